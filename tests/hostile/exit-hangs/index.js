// An exit handler that never ends.
process.on("exit", () => { for (;;); });
export const Hostile = async () => ({});
