// The preflight and the terminal-UI check, run as the agent runs them, on small broken and sound modules.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { done, equal, ok } from "./check.mjs";

// /tmp is a link in the run image, and the runtime names real paths.
const directory = fs.realpathSync(fs.mkdtempSync("/tmp/preflight-"));
const run = (script, name, source) => {
  const path = `${directory}/${name}`;
  fs.writeFileSync(path, source);
  const asset = new URL(`../${script}.mjs`, import.meta.url).pathname;
  const { stdout } = spawnSync(process.execPath, [asset, pathToFileURL(path).href], { env: { BUN_BE_BUN: "1", HOME: directory }, encoding: "utf8" });
  const line = stdout.trimEnd().split("\n").findLast((text) => text.includes('"ocsweep'));
  return line === undefined ? undefined : JSON.parse(line);
};
const preflight = (name, source) => run("preflight", name, source);
const places = ({ error }) => error.positions.map(({ file, line, column }) => [file.slice(directory.length + 1), line, column]);

const sound = preflight("sound.js", 'export const A = async () => {}; export default A; export const V = "1"; export class C {}\nexport { A as "odd name" };');
equal("names and types", sound.exports.map(({ name, type }) => [name, type]), [["A", "function"], ["C", "function"], ["V", "string"], ["default", "function"], ["odd name", "function"]]);
equal("the same function", sound.exports.map(({ same }) => same), [0, 1, undefined, 0, 0]);
equal("a class", sound.exports[1].class, true);
const object = preflight("object.js", 'export default new (class { get id() { return "x"; } server() {} })();');
equal("inherited plugin keys", [object.exports[0].keyTypes, object.exports[0].id], [{ id: "string", server: "function" }, "x"]);
equal("noise and handles do no harm", preflight("noise.js", 'setInterval(() => {}, 1000); process.stdout.write("partial"); export const A = 1;').ok, true);
equal("an exit leaves no answer", preflight("exits.js", "process.exit(3);"), undefined);

equal("a syntax error", places(preflight("one.ts", "const a: number = ;\n")), [["one.ts", 1, 19]]);
equal("several", places(preflight("two.js", "export const A = 1;\n\n});\n")).length >= 1, true);
equal("a throw", places(preflight("throws.js", "const a = 1;\n\nthrow new TypeError('at import');\n")), [["throws.js", 3, 11]]);
const missing = preflight("missing.js", "\nimport x from 'not-there-pkg';\nexport default x;\n");
equal("a missing package", [places(missing), missing.error.specifier], [[["missing.js", 2, 15]], "not-there-pkg"]);
equal("a thrown string", preflight("string.js", 'throw "text";').error.message, "text");
ok("no positions is an empty list", Array.isArray(preflight("json.js", 'JSON.parse("{");').error.positions));

const tui = (name, source) => run("tui-check", name, source);
const toolkit = `import { createSignal as s, Show } from "solid-js"; import * as core from "@opentui/core"; import { Box } from "@opentui/core";
class Mine extends Box {} s(0); export default { id: "t", tui: async () => [Mine, Show, core] };`;
equal("a plugin over the toolkit", [tui("tui.js", toolkit).ok, tui("tui.js", toolkit).id], [true, "t"]);
equal("jsx", tui("view.tsx", '/** @jsxImportSource @opentui/solid */\nexport default { id: "t", tui: () => <text>hi</text> };').ok, true);
equal("tui is no function", tui("bad.js", 'export default { id: "t", tui: 5 };').problem, "default export has tui of type number, expected a function");
equal("a missing package is an error", tui("gone.js", 'import "not-there-pkg"; export default {};').setup, undefined);
done();
