// The observer as the host sees it, and what it records. Needs to be root, to make its FIFO's path.

import fs from "node:fs";
import { done, equal, ok, thrown } from "./check.mjs";

const SINK = "/run/ocsweep/probe/observer.fifo";
fs.mkdirSync("/run/ocsweep/probe", { recursive: true });
fs.writeFileSync(SINK, "");
const before = { fetch: globalThis.fetch.name, length: globalThis.fetch.length, exit: process.exit.name };
const { begins, expose } = await import("../observer-runtime.mjs");
const records = (kind) =>
  fs.readFileSync(SINK, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)).filter((record) => record.kind === kind);

equal("globals keep name and length", { fetch: fetch.name, length: fetch.length, exit: process.exit.name }, before);
begins("file:///entry.js");

const inputs = [];
const Once = async (input) => {
  inputs.push(input);
  return { event: async () => {}, tool: { t: { description: "d", args: {}, execute: async () => ({ output: 1 }) } } };
};
const tui = { id: "x", tui() {} };
const namespace = { Once, RELEASE: "1.0", default: Once, helper: () => null, tui, zero: undefined };
const exposed = expose(namespace);
ok("one function under two names stays one", exposed("Once") === exposed("default"));
ok("another function is another", exposed("helper") !== exposed("Once"));
equal("values stay what they are", [exposed("RELEASE"), exposed("tui") === tui, exposed("zero")], ["1.0", true, undefined]);
equal("nothing was called yet", records("factory.start"), []);
equal("a helper's null passes", [exposed("helper")(), records("factory.end")[0].returned], [null, "null"]);

class Session {
  #answer = ["s"];
  list() { return Promise.resolve(this.#answer); }
  hang() { return new Promise(() => {}); }
}
const client = { session: new Session() };
const input = { client, directory: "/d" };
const hooks = await exposed("Once")(input, undefined);
equal("the factory ran once", inputs.length, 1);
equal("hook keys are recorded", [records("factory.end")[1].hooks, records("factory.end")[1].tools], [["event", "tool"], ["t"]]);
const seenClient = inputs[0].client;
ok("the client has one identity", seenClient.session === seenClient.session && { ...inputs[0] }.client === seenClient);
equal("a client with private fields answers", await seenClient.session.list(), ["s"]);
void seenClient.session.hang();
equal("a pending call has a start and no end", [records("client.start").at(-1).call, records("client.end").length], ["session.hang", 1]);

await hooks.event({ event: { type: "message.updated" } });
equal("a finished quiet event is no record", records("hook.start"), []);
await hooks.event({ event: { type: "session.idle" } });
equal("session events are records", [records("hook.start")[0].event, records("hook.end")[0].hook], ["session.idle", "event"]);
const result = await hooks.tool.t.execute({}, { callID: "c1" });
equal("a tool's result passes", result, { output: 1 });
const toolEnd = records("tool.end")[0];
equal("its type is recorded", [toolEnd.callID, toolEnd.resultType, toolEnd.hasOutput, toolEnd.outputType], ["c1", "object", true, "number"]);

const own = { server() { return this === own ? {} : null; } };
const asNpm = expose({ default: own }, { npmId: "pkg" })("default");
equal("an npm subject gets its name as id", [asNpm.id, own.id, asNpm.server(input) !== null], ["pkg", undefined, true]);
equal("a path subject does not", expose({ default: { server() {} } })("default").id, undefined);
equal("a given id stays", expose({ default: { id: "mine", server() {} } }, { npmId: "pkg" })("default").id, "mine");
const twice = async () => ({});
const both = expose({ Named: twice, default: { id: "b", server: twice } });
await both("default").server(input);
equal("the server of an object is told by the object's name", records("factory.end").at(-1).export, "default");
const echo = expose({ echo: (given) => given })("echo");
const echoed = echo(input);
equal("a helper that returns its input", [echoed.directory, typeof echoed.client.session.list], ["/d", "function"]);
equal("an error passes", thrown(() => expose({ f() { throw new RangeError("r"); } })("f")()).name, "RangeError");
equal("and is recorded", records("factory.end").at(-1).error.name, "RangeError");

process.kill(process.pid, 0);
equal("a signal test is no exit", records("exit"), []);
await fetch("http://127.0.0.1:9/").catch(() => {});
equal("a connection is recorded", [records("net")[0].host, records("net")[0].port, records("net")[0].loopback], ["127.0.0.1", 9, true]);
done();
