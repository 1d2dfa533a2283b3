// A TUI entry whose import never ends.
for (;;);
export default { id: "hostile.tui", tui: async () => {} };
