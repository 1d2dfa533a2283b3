//! The same inputs as in containers, run with `--isolation process`, and attacks on that isolation: what a plugin cannot see, reach, write
//! or leave behind.
//!
//! Inputs that process isolation cannot promise are listed with the reason.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

#[path = "process/attacks.rs"]
mod attacks;
#[path = "process/ending.rs"]
mod ending;
#[path = "process/machine.rs"]
mod machine;

use support::directory::{all_tested, check_run};

const RUN: [&str; 3] = ["run", "--isolation", "process"];

/// One test for each directory, and one that compares the lists with the directories.
macro_rules! directories {
    ($module:ident, $group:literal: $($test:ident = $directory:literal,)*; without $($reason:literal: $left_out:literal,)*) => {
        mod $module {
            $(#[test]
            fn $test() {
                if super::machine::can_isolate() {
                    super::check_run($group, $directory, &super::RUN);
                }
            })*

            #[test]
            fn every_directory_is_in_one_of_the_lists() {
                super::all_tested($group, &[$($directory,)* $($left_out,)*]);
            }
        }
    };
}

directories! { cases, "cases":
    b02_import_throws = "B02-import-throws",
    b03_nonfunction_export = "B03-nonfunction-export",
    b04_helper_returns_null = "B04-helper-returns-null",
    b06_await_client_in_init = "B06-await-client-in-init",
    b07_init_never_resolves = "B07-init-never-resolves",
    b12_entry_missing = "B12-entry-missing",
    b16_tui_only_in_server = "B16-tui-only-in-server",
    b19_plain_object_args = "B19-plain-object-args",
    b21_tool_returns_object = "B21-tool-returns-object",
    b23_shadows_builtin = "B23-shadows-builtin",
    b24_same_fn_two_names = "B24-same-fn-two-names",
    b25_two_sources = "B25-two-sources",
    b26_before_hook_mutation = "B26-before-hook-mutation",
    b27_permission_ask_dead = "B27-permission-ask-dead",
    b29_misspelled_hook = "B29-misspelled-hook",
    b30_exit_before_handler_ends = "B30-exit-before-handler-ends",
    b31_keeps_process_alive = "B31-keeps-process-alive",
    b32_exit0_on_provider_error = "B32-exit0-on-provider-error",
    b36_plugin_exits_host = "B36-plugin-exits-host",
    b38_stdout_noise = "B38-stdout-noise",
    b39_ignores_xdg = "B39-ignores-xdg",
    b40_ancestor_config = "B40-ancestor-config",
    b53_odd_paths = "B53-odd-paths",
    b57_leaves_child = "B57-leaves-child",
    b58_syntax_error = "B58-syntax-error",
    ; without
}

directories! { fixtures, "fixtures":
    bad_export = "bad-export",
    build_fails = "build-fails",
    build_output = "build-output",
    class_export = "class-export",
    config_hook_throws = "config-hook-throws",
    eats_memory = "eats-memory",
    event_file = "event-file",
    explicit_entry = "explicit-entry",
    explicit_entry_missing = "explicit-entry-missing",
    exports_dot_only = "exports-dot-only",
    fills_home = "fills-home",
    hook_mutate = "hook-mutate",
    import_hangs = "import-hangs",
    import_throws = "import-throws",
    init_hangs = "init-hangs",
    install_fails = "install-fails",
    missing_dependency = "missing-dependency",
    no_entry = "no-entry",
    object_without_id = "object-without-id",
    options = "options",
    returns_undefined = "returns-undefined",
    script_ends = "script-ends",
    shell_env = "shell-env",
    syntax_error = "syntax-error",
    system_inject = "system-inject",
    throws_setup = "throws-setup",
    tool = "tool",
    tui_broken = "tui-broken",
    tui_only = "tui-only",
    ; without
    "bun is part of an image, so the row is skipped": "bun-test-fails",
    "likewise, and so nothing hangs": "bun-test-hangs",
    "likewise": "bun-test-pass",
}
