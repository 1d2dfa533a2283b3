// A small plugin with one tool, one hook that changes a tool's input and one that sets a shell variable.
export const Hello = async () => ({
  tool: {
    greet: {
      description: "Greets a person by name",
      args: { name: { type: "string", description: "whom to greet" } },
      execute: async ({ name }) => `hello, ${name}`,
    },
  },
  "tool.execute.before": async (input, output) => {
    if (input.tool === "bash") output.args.command = output.args.command.replaceAll("secret", "[hidden]");
  },
  "shell.env": async (_input, output) => {
    output.env.HELLO_PLUGIN = "1";
  },
});
