//! The same fixtures on line v2, in real containers with the stand-in for opencode 2.x, which plays what the plugin's `setup` would do
//! (`fake-plan.v2.json`). What is shown here is the harness: configuration, shim, channels, stub, reading and judgement. What only a real
//! binary can show is in `docs/v2-unverified.md`.
//!
//! The rows are those of line v1 (`expected.json`), unless the line truly differs (`expected.v2.json`, which says why).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

macro_rules! on_v2 {
    ($module:ident, $group:literal: $($test:ident = $directory:literal,)* ; $($left_out:literal: $reason:expr,)*) => {
        mod $module {
            $(#[test]
            fn $test() {
                crate::support::directory::check_v2($group, $directory);
            })*

            #[test]
            fn every_directory_is_run_or_has_a_reason() {
                crate::support::directory::all_tested_on_v2($group, &[$($directory),*], &[$(($left_out, $reason)),*]);
            }
        }
    };
}

on_v2! { fixtures, "fixtures":
    bad_export = "bad-export",
    build_fails = "build-fails",
    build_output = "build-output",
    class_export = "class-export",
    event_file = "event-file",
    explicit_entry = "explicit-entry",
    explicit_entry_missing = "explicit-entry-missing",
    hook_mutate = "hook-mutate",
    import_hangs = "import-hangs",
    import_throws = "import-throws",
    init_hangs = "init-hangs",
    install_fails = "install-fails",
    missing_dependency = "missing-dependency",
    no_entry = "no-entry",
    object_without_id = "object-without-id",
    options = "options",
    script_ends = "script-ends",
    shell_env = "shell-env",
    syntax_error = "syntax-error",
    system_inject = "system-inject",
    throws_setup = "throws-setup",
    tool = "tool",
    tui_broken = "tui-broken",
    tui_only = "tui-only",
    ;
    "bun-test-fails": "its tests run beside the host, whatever its line",
    "bun-test-hangs": "its tests run beside the host, whatever its line",
    "bun-test-pass": "its tests run beside the host, whatever its line",
    "config-hook-throws": "a v2 plugin has no config hook: it changes the configuration by transforms, whose errors are its setup's",
    "eats-memory": "the bound is the container's, and the stand-in runs no plugin that could reach it",
    "exports-dot-only": "a rule of the v1 host: on v2 the shim names the entry itself",
    "fills-home": "the bound is the container's, and the stand-in runs no plugin that could reach it",
    "returns-undefined": "a v2 setup may return nothing",
}

/// The plugin has v1 exports alone, and what it shows is a surface of a v1 host.
const V1_PLUGIN: &str = "a plugin of line v1 without a setup";

on_v2! { cases, "cases":
    ;
    "B02-import-throws": crate::V1_PLUGIN,
    "B03-nonfunction-export": "on v2 nothing but the default export counts",
    "B04-helper-returns-null": "on v2 nothing but the default export counts",
    "B06-await-client-in-init": crate::V1_PLUGIN,
    "B07-init-never-resolves": crate::V1_PLUGIN,
    "B12-entry-missing": crate::V1_PLUGIN,
    "B16-tui-only-in-server": crate::V1_PLUGIN,
    "B19-plain-object-args": "a v2 tool has a JSON schema by nature",
    "B21-tool-returns-object": "a v2 tool answers with an object by nature",
    "B23-shadows-builtin": crate::V1_PLUGIN,
    "B24-same-fn-two-names": "on v2 nothing but the default export counts",
    "B25-two-sources": crate::V1_PLUGIN,
    "B26-before-hook-mutation": crate::V1_PLUGIN,
    "B27-permission-ask-dead": "the hook exists on v1 alone",
    "B29-misspelled-hook": "on v2 a hook is registered by a call",
    "B30-exit-before-handler-ends": crate::V1_PLUGIN,
    "B31-keeps-process-alive": crate::V1_PLUGIN,
    "B32-exit0-on-provider-error": "a v2 host ends with code 1",
    "B36-plugin-exits-host": crate::V1_PLUGIN,
    "B38-stdout-noise": crate::V1_PLUGIN,
    "B39-ignores-xdg": crate::V1_PLUGIN,
    "B40-ancestor-config": crate::V1_PLUGIN,
    "B53-odd-paths": crate::V1_PLUGIN,
    "B57-leaves-child": crate::V1_PLUGIN,
    "B58-syntax-error": crate::V1_PLUGIN,
}
