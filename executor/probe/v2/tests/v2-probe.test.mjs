// The 2.x probe against a small host of its own: both recorded shapes of hooks and lists, order, redaction, clipping, a host that lacks
// parts, and a payload that throws at every touch.

import fs from "node:fs";

import { done, equal, ok } from "./check.mjs";

const out = "/sandbox/tmp/probe.jsonl";
const { probe } = await import("../v2-core.mjs");

/** Collects hooks by part and name; `fire` runs them in order, as a host does. */
const host = (parts) => {
  const hooks = [];
  const withHook = (part, rest) => ({ ...rest, hook: (name, run) => hooks.push({ part, name, run }) });
  const ctx = { options: { out } };
  for (const [part, rest] of Object.entries(parts)) ctx[part] = rest.hooked ? withHook(part, rest) : rest;
  const fire = async (part, name, event) => {
    for (const hook of hooks) if (hook.part === part && hook.name === name) await hook.run(event);
  };
  return { ctx, fire, hooks };
};

const records = () => fs.readFileSync(out, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const fresh = () => fs.writeFileSync(out, "");
const of = (kind) => records().filter((record) => record.kind === kind);

// A complete host of the 2.0.2x shape.
fresh();
const lists = {
  tool: { hooked: true, list: async () => [{ id: "shell" }, { id: "echo_tool" }] },
  shell: { hooked: true },
  session: { hooked: true },
  permission: { hooked: true },
  agent: { list: async () => ({ location: {}, data: [{ id: "build" }] }) },
  command: { list: async () => ({ data: [{ name: "init" }] }) },
  skill: { list: async () => [] },
  mcp: { list: async () => ({ data: { files: { status: "connected" } } }) },
  provider: { list: async () => [{ id: "stub" }] },
  model: { list: async () => [{ id: "m1", providerID: "stub" }, { id: "stub/m2", providerID: "stub" }] },
  plugin: {
    list: async () => [
      { id: "opencode.tool.shell", source: { type: "builtin" }, features: { server: true }, state: { status: "active" } },
      { id: "a", source: { type: "local", path: "/x/server.js" }, state: { status: "failed", error: "fixture boom", ref: "err_1" } },
      { id: "b", status: "active" },
    ],
  },
  storage: { scan: async () => [{ key: "k", value: 1 }] },
  event: {
    async *subscribe() {
      yield { type: "session.text.delta", data: {} };
      yield { type: "session.execution.succeeded", data: { sessionID: "s" } };
    },
  },
  location: { directory: "/sandbox/project" },
};
const full = host(lists);
const cleanup = await probe("post").setup(full.ctx);
const input = { text: "hi" };
await full.fire("tool", "execute.before", { tool: "echo_tool", id: "call_1", sessionID: "s", input });
input.text = "changed later";
await full.fire("tool", "execute.after", { tool: "echo_tool", id: "call_1", status: "completed", input, result: { content: "x", metadata: {} } });
await full.fire("tool", "execute.after", { tool: "echo_tool", id: "call_2", status: "error", input, error: { message: "no" } });
await full.fire("shell", "create.before", { command: "ls", cwd: "/p", env: { API_KEY: "1", PLAIN: "2" } });
await full.fire("session", "context", { sessionID: "s", system: [{ type: "text", text: "y".repeat(5000) }], tools: { shell: {}, read: {} } });
await full.fire("session", "model.request", { sessionID: "s", headers: { authorization: "secret", "x-own": "1" }, baseURL: "http://x" });
await full.fire("session", "prompt", { sessionID: "s", prompt: { text: "hello" } });
await full.fire("session", "prompt", { sessionID: "s", prompt: { text: "again" } });
await new Promise((resolve) => setTimeout(resolve, 20));
ok("a cleanup function is returned", typeof cleanup === "function");
cleanup();
equal("setup is the first record", records()[0].kind, "setup");
equal("nothing is missing", of("setup")[0].missing, []);
equal("the call's id", [of("tool.before")[0].callID, of("tool.after")[0].callID], ["call_1", "call_1"]);
equal("a record is a copy", of("tool.before")[0].input, { text: "hi" });
equal("a result", of("tool.after")[0].result, { content: "x", metadata: {} });
equal("a failed call", [of("tool.after")[1].status, of("tool.after")[1].error.message], ["error", "no"]);
equal("secrets by name", of("shell.before")[0].env, { API_KEY: "[redacted]", PLAIN: "2" });
equal("headers", of("model.request")[0].headers, { authorization: "[redacted]", "x-own": "1" });
equal("a long system text is kept", of("session.context")[0].system[0].text.length, 5000);
equal("offered tools", of("session.context")[0].tools, ["shell", "read"]);
equal("prompts", of("session.prompt").map((record) => record.text), ["hello", "again"]);
equal("one inventory", of("inventory").length, 1);
const inventory = of("inventory")[0];
equal("tools", inventory.tools, ["shell", "echo_tool"]);
equal("commands", inventory.commands, ["init"]);
equal("mcp", inventory.mcp, ["files"]);
equal("models", inventory.models, ["stub/m1", "stub/m2"]);
equal("states of both shapes", inventory.plugins.map((plugin) => plugin.status), ["active", "failed", "active"]);
equal("the error of a failed plugin", inventory.plugins[1].error, "fixture boom");
equal("its place", inventory.plugins[1].source.path, "/x/server.js");
equal("events without deltas", of("event").map((record) => record.type), ["session.execution.succeeded"]);
equal("what is stored", of("storage")[0].entries, [{ key: "k", value: 1 }]);
ok("metadata comes last", /"phase":"post","seq":0,"t":\d+,"kind":"setup"\}$/.test(fs.readFileSync(out, "utf8").split("\n")[0]));

// A preview: `callID`, the text in `output`, a catalog, and half of the interface missing.
fresh();
const preview = host({
  tool: { hooked: true },
  session: { hooked: true },
  catalog: { provider: { list: async () => ({ data: [{ id: "stub" }] }) }, model: { list: async () => [{ id: "m1", providerID: "stub" }] } },
  plugin: { list: async () => [{ id: "a" }] },
});
await probe("post").setup(preview.ctx);
await preview.fire("tool", "execute.before", { tool: "t", callID: "c", input: {} });
await preview.fire("tool", "execute.after", { tool: "t", callID: "c", result: { type: "json", value: 1 }, output: { structured: { a: 1 }, content: [{ type: "text", text: "x" }] } });
await preview.fire("session", "prompt", { sessionID: "s", prompt: "plain" });
equal("the preview's id", of("tool.before")[0].callID, "c");
equal("the preview's result", of("tool.after")[0].result, { structured: { a: 1 }, content: [{ type: "text", text: "x" }], output: { a: 1 } });
equal("what it lacks", of("setup")[0].missing, ["shell.hook", "permission.hook", "event.subscribe"]);
equal("lists it lacks", of("inventory")[0].missing, ["tools", "agents", "commands", "skills", "mcp"]);
equal("its providers", of("inventory")[0].providers, ["stub"]);
equal("a plain prompt", of("session.prompt")[0].text, "plain");

// Payloads that throw, and no `out`.
fresh();
const hostile = new Proxy({}, { get: () => { throw new Error("no"); } });
await preview.fire("tool", "execute.before", hostile);
equal("a throwing payload leaves no record and no error", records.length, 0);
equal("without out it does nothing", await probe("pre").setup({ options: {} }), undefined);
equal("ids", [probe("pre").id, probe("post").id], ["opencode-plugin-ci.probe.pre", "opencode-plugin-ci.probe.post"]);

done();
