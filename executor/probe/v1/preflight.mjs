// Imports the entry of a plugin in the host's own runtime and prints what it exports, or why not.
//
// The last line of stdout that holds the marker is the answer; what the plugin prints before is noise.
// Must not call anything of the plugin. A top-level await that never settles is the agent's to bound.

import fs from "node:fs";

const { readFileSync, writeSync } = fs;
const { stringify } = JSON;
const exit = process.exit.bind(process);
const POSITION_LIMIT = 20;
const TEXT_LIMIT = 20000;
const KEY_LIMIT = 1000;
/** Bytes of an answer that the agent still reads as a whole; more names than that cannot be exposed one by one either. */
const ANSWER_LIMIT = 3 * 1024 * 1024;
/** The name that `ocsweep_proto::agent::EXPORT_LIMIT` has. */
const EXPORT_LIMIT = "ExportLimit";

const encoded = (result) => new TextEncoder().encode(`\n${stringify({ ocsweepPreflight: 1, ...result })}\n`);

const answer = (result) => {
  const bytes = encoded(result);
  if (bytes.length > ANSWER_LIMIT && result.ok) {
    const message = `${result.exports.length} export names are too many, or too long, to be looked at one by one`;
    return answer({ ok: false, error: { name: EXPORT_LIMIT, message, stack: "", positions: [] } });
  }
  let at = 0;
  while (at < bytes.length) at += writeSync(1, bytes, at, bytes.length - at);
  exit(0);
};

const typeOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const clip = (text) => (text.length > TEXT_LIMIT ? `${text.slice(0, TEXT_LIMIT)}…[+${text.length - TEXT_LIMIT}]` : text);

/** Keys that decide what the loader does; `in` and not own, because a class instance has them too. */
const pluginKeys = ["id", "server", "setup", "effect", "tui"];

const describeObject = (value) => {
  const keys = [...new Set([...pluginKeys.filter((key) => key in value), ...Object.keys(value).slice(0, KEY_LIMIT)])];
  const keyTypes = Object.create(null);
  for (const key of keys) keyTypes[key] = typeOf(value[key]);
  return { keys, keyTypes, ...(typeof value.id === "string" ? { id: clip(value.id) } : undefined) };
};

const describeExports = (namespace) => {
  const groups = new Map();
  return Object.keys(namespace).map((name) => {
    const value = namespace[name];
    const type = typeOf(value);
    if (type === "function") {
      if (!groups.has(value)) groups.set(value, groups.size);
      return { name, type, same: groups.get(value), class: /^class\b/.test(Function.prototype.toString.call(value)) };
    }
    return type === "object" ? { name, type, ...describeObject(value) } : { name, type };
  });
};

/** A message of the bundler carries its place; several of them come in one AggregateError. */
const buildPositions = (error) =>
  [error, ...(Array.isArray(error?.errors) ? error.errors : [])]
    .filter((part) => part?.position)
    .map(({ position, message }) => ({
      file: position.file ?? "",
      line: position.line ?? 0,
      column: position.column ?? 0,
      message: clip(String(message ?? "")),
    }));

/** An import that does not resolve names its file alone; the place is where that file quotes the name. */
const importPositions = (error) => {
  const { specifier, referrer } = error;
  if (typeof specifier !== "string" || typeof referrer !== "string" || referrer === "") return [];
  const file = referrer.startsWith("file://") ? Bun.fileURLToPath(referrer) : referrer;
  const place = { file, line: 0, column: 0, message: String(error.message ?? "") };
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    const line = lines.findIndex((text) => text.includes(`"${specifier}"`) || text.includes(`'${specifier}'`));
    if (line >= 0) return [{ ...place, line: line + 1, column: lines[line].indexOf(specifier) }];
  } catch {
    // the file is gone or unreadable: its name has to do
  }
  return [place];
};

const FRAME = /\(?(?:file:\/\/)?(\/[^\n()]+?):(\d+):(\d+)\)?$/;

/** The first frame of a stack that is neither the runtime nor this file. */
const stackPositions = (error) => {
  for (const line of String(error?.stack ?? "").split("\n")) {
    const frame = FRAME.exec(line.trim());
    if (!frame || frame[1].startsWith("/$bunfs/") || frame[1] === import.meta.path) continue;
    return [{ file: frame[1], line: Number(frame[2]), column: Number(frame[3]), message: clip(String(error.message ?? "")) }];
  }
  return [];
};

const describeError = (error) => {
  if (error === null || typeof error !== "object") return { name: typeof error, message: clip(String(error)), stack: "", positions: [] };
  const places = [buildPositions, importPositions, stackPositions].map((find) => find(error)).find((found) => found.length > 0);
  return {
    name: error.name === "BuildMessage" ? "SyntaxError" : String(error.name ?? "Error"),
    message: clip(String(error.message ?? error)),
    stack: clip(String(error.stack ?? "")),
    positions: (places ?? []).slice(0, POSITION_LIMIT),
    ...(error.code === undefined ? undefined : { code: String(error.code) }),
    ...(error.specifier === undefined ? undefined : { specifier: String(error.specifier), referrer: String(error.referrer ?? "") }),
  };
};

const guarded = (describe, value) => {
  try {
    return describe(value);
  } catch (error) {
    return { name: "Error", message: clip(`unreadable: ${error?.message}`), stack: "", positions: [] };
  }
};

const [entry] = process.argv.slice(2);
try {
  const namespace = await import(entry);
  answer({ ok: true, exports: describeExports(namespace) });
} catch (error) {
  answer({ ok: false, error: guarded(describeError, error) });
}
