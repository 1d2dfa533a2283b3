// The static check of a terminal-UI plugin: imports its entry and looks at the shape of its default
// export. The host's terminal toolkit does not resolve outside the host, so it is replaced by an empty one.
//
// Must not call `tui`, and must not need a terminal.

import fs from "node:fs";
import { dirname } from "node:path";

const { readFileSync, writeSync } = fs;
const { stringify } = JSON;
const exit = process.exit.bind(process);
const TOOLKIT = /^(?:@opentui\/|solid-js(?:\/|$)|@opencode-ai\/plugin\/tui$|@opencode\/plugin\/tui$)/;

const answer = (result) => {
  const bytes = new TextEncoder().encode(`\n${stringify({ ocsweepTui: 1, ...result })}\n`);
  let at = 0;
  while (at < bytes.length) at += writeSync(1, bytes, at, bytes.length - at);
  exit(0);
};

const typeOf = (value) => (value === null ? "null" : typeof value);

/** Anything that a module may do with the toolkit while it is imported: call it, build it, extend it. */
const anything = new Proxy(function stub() {}, {
  get: (target, key) => {
    if (key === "prototype") return target.prototype;
    return key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined : anything;
  },
  apply: () => anything,
  construct: () => ({}),
});

const resolves = (specifier, directory) => {
  try {
    return Bun.resolveSync(specifier, directory);
  } catch {
    return undefined;
  }
};

const FROM = /\b(?:import|export)\b([^;'"()]*?)\bfrom\s*["']([^"']+)["']/g;
const BARE = /\bimport\s*\(?\s*["']([^"']+)["']/g;
const SOURCE = /^\/.*\.[cm]?[jt]sx?$/;
const FILE_LIMIT = 2000;

/** Every toolkit module that the sources ask for and that is not there, with the names they import. */
const missingToolkit = (entry) => {
  const wanted = new Map(RUNTIMES.filter((name) => !resolves(name, dirname(entry))).map((name) => [name, new Set(RUNTIME_NAMES)]));
  const files = [entry];
  for (const file of files) {
    for (const [specifier, clause] of importsOf(file)) {
      const found = resolves(specifier, dirname(file));
      if (found === undefined && TOOLKIT.test(specifier)) {
        const names = wanted.get(specifier) ?? new Set(["default"]);
        wanted.set(specifier, names);
        for (const name of namesIn(clause)) names.add(name);
      }
      if (found && SOURCE.test(found) && !files.includes(found) && files.length < FILE_LIMIT) files.push(found);
    }
  }
  return wanted;
};

/** What JSX turns into, which no source names. */
const RUNTIME_NAMES = ["default", "jsx", "jsxs", "jsxDEV", "Fragment"];
const RUNTIMES = ["@opentui/solid", "@opentui/react", "solid-js"].flatMap((name) => [`${name}/jsx-runtime`, `${name}/jsx-dev-runtime`]);

const importsOf = (file) => {
  try {
    const text = readFileSync(file, "utf8");
    return [...text.matchAll(FROM)].map(([, clause, name]) => [name, clause]).concat([...text.matchAll(BARE)].map(([, name]) => [name, ""]));
  } catch {
    return [];
  }
};

const namesIn = (clause) =>
  (/\{([^}]*)\}/.exec(clause)?.[1] ?? "")
    .split(",")
    .map((part) => part.trim().replace(/^type\s+/, "").split(/\s+as\s+/)[0])
    .filter((name) => name !== "");

const stubToolkit = (entry) =>
  Bun.plugin({
    name: "terminal-toolkit",
    setup(build) {
      for (const [specifier, names] of missingToolkit(entry)) {
        const exports = Object.fromEntries([...names].map((name) => [name, anything]));
        build.module(specifier, () => ({ loader: "object", exports }));
      }
    },
  });

const problemOf = (plugin) => {
  if (plugin === null || typeof plugin !== "object") return `default export is ${typeOf(plugin)}, expected an object with tui()`;
  if (typeof plugin.tui !== "function") return `default export has tui of type ${typeOf(plugin.tui)}, expected a function`;
  if ("id" in plugin && typeof plugin.id !== "string") return `default export has id of type ${typeOf(plugin.id)}, expected a string`;
  return "";
};

const [entry] = process.argv.slice(2);
try {
  stubToolkit(Bun.fileURLToPath(entry));
  const { default: plugin } = await import(entry);
  const problem = problemOf(plugin);
  answer({
    ok: problem === "",
    problem,
    error: "",
    tui: typeOf(plugin?.tui),
    id: typeof plugin?.id === "string" ? plugin.id : undefined,
    setup: typeOf(plugin?.setup),
    server: typeOf(plugin?.server),
  });
} catch (error) {
  const text = String(error?.message ?? error);
  const parts = Array.isArray(error?.errors) ? error.errors.map((part) => String(part?.message ?? part)) : [];
  answer({ ok: false, error: [text, ...parts].join("; "), tui: "undefined" });
}
