//! Real failures of real people's plugins, on the real opencode in real containers: each directory of `tests/cases` gives exactly the
//! rows that its `expected.json` names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a test may panic, and says when it is skipped")]

#[path = "support/parts.rs"]
mod support;

use support::directory::directories;

directories! { "cases":
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
}
