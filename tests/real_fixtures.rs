//! Every surface of a plugin, on the real opencode in real containers: each directory of `tests/fixtures` gives exactly the rows that its
//! `expected.json` names, with the exact texts of its failures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

use support::directory::directories;

directories! { "fixtures":
    bad_export = "bad-export",
    build_fails = "build-fails",
    build_output = "build-output",
    bun_test_fails = "bun-test-fails",
    bun_test_hangs = "bun-test-hangs",
    bun_test_pass = "bun-test-pass",
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
}
