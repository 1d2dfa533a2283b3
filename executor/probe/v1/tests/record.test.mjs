// What a record holds: clipping, redaction, metadata that a payload cannot forge, and a sink that never throws.

import fs from "node:fs";
import { clip, describeError, recorder, redact } from "../record.mjs";
import { done, equal, ok } from "./check.mjs";

const path = `${fs.mkdtempSync("/tmp/record-")}/out`;
const lines = () => fs.readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

equal("a missing sink is not created", [recorder(path, "pre").active, fs.existsSync(path)], [false, false]);
equal("no sink at all", recorder(undefined, "pre").active, false);
equal("a directory is no sink", recorder("/tmp", "pre").active, false);

fs.writeFileSync(path, "");
const { record } = recorder(path, "pre");
record("setup", { kind: "forged", phase: "forged", seq: 999, t: 1, mine: 1 });
const live = { text: "before" };
record("event", live);
live.text = "after";
record("throws", new Proxy({}, { ownKeys: () => { throw new Error("no"); } }));
record("long", { text: "x".repeat(4001), list: Array.from({ length: 201 }, (_, i) => i) });
record("inventory", { tools: Array.from({ length: 201 }, (_, i) => `t${i}`) }, { arrays: false });
record("context", { system: ["y".repeat(50001)] }, { text: 50000 });
const [setup, event, threw, long, inventory, context] = lines();
equal("metadata is last and true", [Object.keys(setup), setup.kind, setup.phase, setup.seq], [["mine", "phase", "seq", "t", "kind"], "setup", "pre", 0]);
equal("a later change does not rewrite history", event.text, "before");
equal("an unreadable payload keeps its record", [threw.kind, threw.seq], ["throws", 2]);
equal("strings are clipped", long.text, `${"x".repeat(4000)}…[+1]`);
equal("arrays are clipped", [long.list.length, long.list[200]], [201, "…[+1]"]);
equal("an inventory is whole", inventory.tools.at(-1), "t200");
equal("contexts have a limit of their own", context.system[0], `${"y".repeat(50000)}…[+1]`);

const nested = (levels) => (levels === 0 ? "end" : { n: nested(levels - 1) });
equal("depth 6 is kept", JSON.stringify(clip(nested(6))).includes('"end"'), true);
equal("depth 7 is cut", JSON.stringify(clip(nested(7))).includes('"[depth]"'), true);
const cycle = {};
cycle.self = cycle;
ok("a cycle ends", JSON.stringify(clip(cycle)));
const wide = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => [1, 2, 3]));
ok("a record is bounded", JSON.stringify(clip(wide)).includes("[too-large]"));
const pollution = clip(JSON.parse('{"__proto__": {"polluted": true}}'));
equal("a __proto__ key stays data", [JSON.stringify(pollution), {}.polluted], ['{"__proto__":{"polluted":true}}', undefined]);
equal("odd values have text", clip({ n: 1n, f() {}, u: undefined, x: Number.NaN }), { n: "1", f: "[function]", x: "NaN" });
equal("a getter that throws", clip({ get bad() { throw new Error("no"); }, good: 1 }), { bad: "[unreadable]", good: 1 });

for (const name of ["api_key", "MyToken", "secretX", "PASSWORD", "x-Authorization", "Set-Cookie"])
  equal(`redacts ${name}`, redact({ [name]: "value" }), { [name]: "[redacted]" });
equal("keeps the rest", redact({ FIXTURE_ON: "1" }), { FIXTURE_ON: "1" });
equal("headers too", redact(new Headers({ authorization: "x", accept: "y" })), { accept: "y", authorization: "[redacted]" });

equal("an error", describeError(new TypeError("no")).name, "TypeError");
equal("a thrown string", describeError("text"), { name: "string", message: "text", stack: "" });
done();
