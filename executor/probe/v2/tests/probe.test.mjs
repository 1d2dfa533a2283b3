// Both probes around a plugin, in a small context with the shapes of the hosts that were recorded.

import fs from "node:fs";
import post from "../probe-post/server.mjs";
import pre from "../probe-pre/server.mjs";
import { done, equal, ok } from "./check.mjs";

const directory = fs.mkdtempSync("/tmp/probe-");
const out = (phase) => `${directory}/${phase}`;
const lines = (phase, kind) =>
  fs.readFileSync(out(phase), "utf8").trimEnd().split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((line) => kind === undefined || line.kind === kind);

/** A host that runs hooks in the order of their registration, each on the event as the one before left it. */
class Host {
  hooks = [];
  events = [];
  constructor(members) {
    this.members = members;
  }
  domain(name) {
    return { hook: async (hook, run) => void this.hooks.push([`${name} ${hook}`, run]) };
  }
  context(options, without = []) {
    const host = this;
    const ctx = {
      options,
      location: { directory: "/p", project: { id: "x", directory: "/p", canonical: "/c" } },
      tool: { ...this.domain("tool"), list: async () => this.members.tools },
      shell: this.domain("shell"),
      session: this.domain("session"),
      permission: this.domain("permission"),
      event: { async *subscribe({ signal }) { for (const event of host.events) { if (signal.aborted) return; yield event; } } },
      ...this.members.ctx,
    };
    for (const name of without) delete ctx[name];
    return ctx;
  }
  async run(name, event) {
    for (const [hook, run] of this.hooks) if (hook === name) await run(event);
    return event;
  }
}

const list = (data) => ({ list: async () => data });
const newer = {
  tools: { location: {}, data: Array.from({ length: 201 }, (_, i) => ({ id: `t${i}`, name: "n" })) },
  ctx: {
    agent: list([{ id: "build", name: "Build" }]),
    command: list({ data: [{ name: "init" }] }),
    skill: list([]),
    mcp: list({ data: { srv: { status: "connected" } } }),
    provider: list([{ id: "stub" }]),
    model: list([{ id: "m1", providerID: "stub" }]),
    catalog: { get provider() { throw new Error("must not be asked"); } },
    plugin: list({ location: {}, data: [
      { id: "opencode.agent", source: { type: "builtin" }, state: { status: "active" }, features: { server: true } },
      { id: "mine", source: { type: "local", path: "/s/server.js" }, state: { status: "failed", error: "boom\nat x", ref: "err_1" } },
    ] }),
    storage: { scan: async () => [{ key: "k", value: 1 }] },
  },
};

const reset = () => ["pre", "post"].forEach((phase) => fs.writeFileSync(out(phase), ""));
const start = async (host, between = async () => {}, without = []) => {
  reset();
  await pre.setup(host.context({ out: out("pre"), phase: "pre" }, without));
  await between(host);
  return post.setup(host.context({ out: out("post"), phase: "post" }, without));
};

equal("the ids", [pre.id, post.id], ["ocsweep.probe.pre", "ocsweep.probe.post"]);
ok("inert without out", (await pre.setup(new Host(newer).context({}))) === undefined);

const host = new Host(newer);
host.events = [
  { type: "session.text.delta", data: {} },
  { type: "plugin.added", data: { id: "x" } },
  { type: "session.execution.succeeded", data: { sessionID: "s" } },
];
const stop = await start(host, async (h) => {
  h.hooks.push(["tool execute.before", (event) => { event.input.command = "[x]"; }]);
  h.hooks.push(["session context", (event) => { event.system.push({ type: "text", text: "ADDED" }); }]);
});
ok("a cleanup", typeof stop === "function");
for (const phase of ["pre", "post"]) {
  const [setup] = lines(phase);
  equal(`${phase}: setup is first, metadata last`, [Object.keys(setup), setup.kind, setup.seq], [["directory", "worktree", "phase", "seq", "t", "kind"], "setup", 0]);
}
await host.run("session prompt", { sessionID: "s", messageID: "m", prompt: { text: "hi", files: [] }, delivery: "steer" });
equal("the prompt's text", lines("pre", "session.prompt")[0].text, "hi");
await host.run("session prompt", { sessionID: "s", prompt: { text: "again" } });
const inventories = lines("post", "inventory");
equal("one inventory, behind the plugin alone", [inventories.length, lines("pre", "inventory").length], [1, 0]);
const [inventory] = inventories;
equal("every tool by its effective name", [inventory.tools.length, inventory.tools.at(-1)], [201, "t200"]);
equal("lists", [inventory.agents, inventory.commands, inventory.mcp, inventory.providers, inventory.models, inventory.missing], [["build"], ["init"], ["srv"], ["stub"], ["stub/m1"], []]);
equal("a nested state", [inventory.plugins[1].id, inventory.plugins[1].status, inventory.plugins[1].error, inventory.plugins[1].source], ["mine", "failed", "boom\nat x", { type: "local", path: "/s/server.js" }]);

const forged = { command: "echo secret", kind: "forged", phase: "forged", seq: 999 };
await host.run("tool execute.before", { tool: "shell", id: "c1", sessionID: "s", input: forged });
equal("each probe sees its side", [lines("pre", "tool.before")[0].input.command, lines("post", "tool.before")[0].input.command], ["echo secret", "[x]"]);
equal("the id of the call", lines("pre", "tool.before")[0].callID, "c1");
await host.run("tool execute.before", { tool: "shell", callID: "c2", input: {} });
equal("and its older name", lines("pre", "tool.before")[1].callID, "c2");
await host.run("tool execute.after", { tool: "t", id: "c1", status: "completed", input: {}, result: { content: [{ type: "text", text: "out" }] } });
await host.run("tool execute.after", { tool: "t", id: "c1", status: "error", input: {}, error: Object.assign(new Error("no"), { _tag: "ToolError" }) });
await host.run("tool execute.after", { tool: "t", callID: "c3", input: {}, result: { type: "text", value: "v" }, output: { content: [{ type: "text", text: "v" }] } });
const after = lines("post", "tool.after");
equal("results and errors", after.map((r) => [r.status, r.result?.content?.[0]?.text, r.error?.message]), [["completed", "out", undefined], ["error", undefined, "no"], ["completed", "v", undefined]]);
await host.run("shell create.before", { command: "c", cwd: "/p", env: { FIXTURE_ON: "1", API_KEY: "s" } });
equal("an environment is redacted", lines("post", "shell.before")[0].env, { FIXTURE_ON: "1", API_KEY: "[redacted]" });
await host.run("session context", { sessionID: "s", agent: "build", model: { id: "m1", providerID: "stub" }, kind: "primary", system: [{ type: "text", text: "y".repeat(50001) }], tools: { shell: {} } });
equal("the system text", [lines("pre", "session.context")[0].system, lines("post", "session.context")[0].system[1]], [[`${"y".repeat(50000)}…[+1]`], "ADDED"]);
equal("what the request is for, beside the record's own kind", [lines("pre", "session.context")[0].requestKind], ["primary"]);
equal("the offered tools", lines("post", "session.context")[0].tools, ["shell"]);
await host.run("session model.request", { kind: "primary", model: { id: "m1" }, baseURL: "u", headers: { "x-auth": "1", accept: "a" } });
equal("headers are redacted", [lines("post", "model.request")[0].model, lines("post", "model.request")[0].headers], ["m1", { "x-auth": "[redacted]", accept: "a" }]);
await host.run("permission evaluate", { action: "shell", resources: ["x"], effect: "ask" });
equal("a permission", lines("post", "permission.evaluate")[0].effect, "ask");
equal("events without deltas, of the post probe", [lines("post", "event").map((r) => r.type), lines("pre", "event").length], [["plugin.added", "session.execution.succeeded"], 0]);
equal("the storage when the session is idle", lines("post", "storage")[0].entries, [{ key: "k", value: 1 }]);

await host.run("tool execute.after", null);
await host.run("session prompt", { get prompt() { throw new Error("no"); } });
ok("a payload that cannot be read breaks nothing", lines("post").every((line) => line.kind));

// An earlier host: no shell, no tool.list, a catalog instead of provider and model, the state spread over the entry.
const older = {
  ctx: {
    tool: undefined,
    agent: list({ data: [{ id: "build" }] }), command: list([]), skill: list([]),
    catalog: { provider: list({ data: [{ id: "stub" }] }), model: list({ data: [{ id: "m1", providerID: "stub" }] }) },
    plugin: list([{ id: "mine", source: { type: "local", path: "/s/server.js" }, status: "active" }, { id: "bare" }]),
  },
};
const old = new Host(older);
await start(old, undefined, ["shell", "permission", "event"]);
await old.run("session context", { system: [], tools: {} });
const [oldInventory] = lines("post", "inventory");
equal("providers of the catalog", [oldInventory.providers, oldInventory.models], [["stub"], ["stub/m1"]]);
equal("a flat state", oldInventory.plugins.map((plugin) => plugin.status), ["active", undefined]);
equal("what is missing is named", oldInventory.missing.toSorted(), ["events", "hook permission.evaluate", "hook shell.create.before", "hook tool.execute.after", "hook tool.execute.before", "mcp", "tools"]);
done();
