// Writes probe records: one JSON line per observation, to a FIFO that the agent holds open.
//
// Must not throw into its caller, must not create the FIFO, and must not keep a reference to an
// observed value: everything is copied and clipped at the moment of observation. The primitives are
// captured at import, so that a plugin which replaces them later cannot silence the recorder.

import fs from "node:fs";

const { openSync, fstatSync, closeSync, writeSync, constants } = fs;
const { stringify } = JSON;
const now = Date.now;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);

export const STRING_LIMIT = 4000;
export const CONTEXT_LIMIT = 50000;
const DEPTH_LIMIT = 6;
const ARRAY_LIMIT = 200;
/** Bounds the work for one record: a wide and deep object would otherwise take minutes. */
const NODE_LIMIT = 20000;
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|AUTH|COOKIE/i;
const META = new Set(["phase", "seq", "t", "kind"]);

const clipText = (text, limit) =>
  text.length > limit ? `${text.slice(0, limit)}…[+${text.length - limit}]` : text;

const read = (object, key) => {
  try {
    return object[key];
  } catch {
    return "[unreadable]";
  }
};

const list = (array, depth, state) => {
  const out = [];
  const end = state.arrays ? Math.min(array.length, ARRAY_LIMIT) : array.length;
  for (let i = 0; i < end; i++) out.push(copy(read(array, i), depth + 1, state));
  if (end < array.length) out.push(`…[+${array.length - end}]`);
  return out;
};

const fields = (object, depth, state) => {
  const out = Object.create(null);
  const names = object instanceof Error ? ["name", "message", ...Object.keys(object)] : Object.keys(object);
  for (const name of names) {
    const value = copy(read(object, name), depth + 1, state);
    if (value !== undefined) out[clipText(name, STRING_LIMIT)] = value;
  }
  return out;
};

const copy = (value, depth, state) => {
  if (value === undefined) return undefined;
  if (depth > DEPTH_LIMIT) return "[depth]";
  if (++state.nodes > NODE_LIMIT) return "[too-large]";
  switch (typeof value) {
    case "string":
      return clipText(value, state.text);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "bigint":
    case "symbol":
      return String(value);
    case "function":
      return "[function]";
  }
  if (value === null) return null;
  try {
    return copyObject(value, depth, state);
  } catch {
    return "[unreadable]";
  }
};

const copyObject = (value, depth, state) => {
  if (Array.isArray(value)) return list(value, depth, state);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof URL || value instanceof RegExp) return String(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[bytes ${value.byteLength}]`;
  if (value instanceof Map) return fields(Object.fromEntries(value), depth, state);
  if (value instanceof Set) return list([...value], depth, state);
  return fields(value, depth, state);
};

/** A clipped copy of `value` that shares nothing with it. `text` is the limit for strings. */
export const clip = (value, { text = STRING_LIMIT, arrays = true } = {}) => copy(value, 0, { text, arrays, nodes: 0 });

/** `env` or `headers` as an object whose secret-looking names keep no value. */
export const redact = (map) => {
  const out = Object.create(null);
  if (map === null || typeof map !== "object") return out;
  const entries = typeof map.entries === "function" ? [...map.entries()] : Object.entries(map);
  for (const [name, value] of entries) out[name] = SECRET_NAME.test(name) ? "[redacted]" : value;
  return out;
};

/** What is worth keeping of a thrown value, whatever it is. */
export const describeError = (error) => {
  try {
    if (error === null || typeof error !== "object") return { name: typeof error, message: String(error), stack: "" };
    return {
      name: clipText(String(error.name ?? error.constructor?.name ?? "Error"), 200),
      message: clipText(String(error.message ?? ""), STRING_LIMIT),
      stack: clipText(String(error.stack ?? ""), STRING_LIMIT),
    };
  } catch {
    return { name: "Error", message: "[unreadable]", stack: "" };
  }
};

export const typeName = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const open = (path) => {
  if (typeof path !== "string" || path === "") return -1;
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NOCTTY);
    if (fstatSync(fd).isFIFO() || fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // absent or not ours to write: the recorder stays inert
  }
  return -1;
};

const writeAll = (fd, bytes) => {
  let at = 0;
  while (at < bytes.length) at += writeSync(fd, bytes, at, bytes.length - at);
};

/**
 * A recorder for one phase. `record(kind, payload, limits)` appends a line; `active` is false when
 * there is nowhere to write. Metadata comes after the payload, which cannot forge it.
 */
export const recorder = (path, phase) => {
  const fd = open(path);
  let seq = 0;
  const record = (kind, payload, limits) => {
    if (fd < 0) return;
    try {
      const line = Object.create(null);
      const body = clip(payload, limits);
      for (const name of Object.keys(body)) if (!META.has(name)) line[name] = body[name];
      line.phase = phase;
      line.seq = seq++;
      line.t = now();
      line.kind = kind;
      writeAll(fd, encode(`${stringify(line)}\n`));
    } catch {
      // a probe that cannot write must never break the run
    }
  };
  return { record, active: fd >= 0 };
};
