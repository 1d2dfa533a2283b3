// Stand-ins must be told apart from the originals by nothing that a host looks at.

import { callAndReport, copyWith, overlay, wrapFunction } from "../overlay.mjs";
import { done, equal, ok, thrown } from "./check.mjs";

const pass = (target, self, args) => callAndReport(target, self, args, { returned: (v) => v, threw: () => {} });

class Plain {}
const named = Object.assign(function named(_a, _b) { return this; }, { extra: 1 });
const wrapped = wrapFunction(named, "factory", pass);
equal("name, length, properties", [wrapped.name, wrapped.length, wrapped.extra], ["named", 2, 1]);
ok("one stand-in for one function and role", wrapped === wrapFunction(named, "factory", pass));
ok("another for another role", wrapped !== wrapFunction(named, "hook x", pass));
ok("a stand-in is not wrapped again", wrapFunction(wrapped, "factory", pass) === wrapped);
const native = thrown(() => Plain());
const through = thrown(() => wrapFunction(Plain, "factory", pass)());
equal("a class fails as it does without", [through.name, through.message], [native.name, native.message]);

class Secret {
  #x = 42;
  get id() { return `s${this.#x}`; }
  server() { return this.#x; }
}
const secret = new Secret();
const replaceServer = (key, value) => (key === "server" ? wrapFunction(value, "factory", pass) : value);
const copy = copyWith(secret, replaceServer, ["id", "server", "tui"]);
equal("private state works in a copy", [copy.id, copy.server(), copy instanceof Secret, "tui" in copy], ["s42", 42, true, false]);
const frozen = Object.freeze({ id: "f", server() { return this === frozen; } });
ok("a frozen object is copied", copyWith(frozen, replaceServer).server());

const hooks = { event() { return this === hooks; } };
const view = overlay(hooks, "hooks", (_key, value) => (typeof value === "function" ? wrapFunction(value, "hook", pass) : value));
ok("this is the original", view.event());
hooks.later = () => 7;
equal("later additions are visible", [view.later(), Object.keys(view)], [7, ["event", "later"]]);
view.set = 1;
equal("writes reach the original", hooks.set, 1);
ok("one view for one object", overlay(hooks, "hooks", () => undefined) === view);
const fixed = Object.freeze({ run: () => 1 });
equal("a frozen object has a view", overlay(fixed, "hooks", (_k, v) => v).run(), 1);

const seen = [];
const report = { returned: (v) => { seen.push(v); return v; }, threw: (e) => seen.push(e.message) };
equal("a value passes at once", callAndReport(() => 5, undefined, [], report), 5);
equal("a throw passes on", thrown(() => callAndReport(() => { throw new Error("a"); }, undefined, [], report)).message, "a");
equal("a promise passes", await callAndReport(async () => 6, undefined, [], report), 6);
const lazy = { then() { seen.push("started"); } };
ok("a thenable is not started", callAndReport(() => lazy, undefined, [], report) === lazy);
equal("everything was reported once", seen, [5, "a", 6, lazy]);

const unhandled = new Promise((resolve) => process.once("unhandledRejection", (reason) => resolve(reason.message)));
callAndReport(async () => { throw new Error("nobody waits"); }, undefined, [], report);
equal("an unhandled rejection stays unhandled", await unhandled, "nobody waits");
done();
