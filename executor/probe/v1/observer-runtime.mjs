// The observer around the plugin under test, on opencode 1.x. The generated observer module imports
// the real entry, and hands every export through `expose`.
//
// Must never call a factory by itself, never swallow an error, never delay a result, and never change
// what the host sees of the plugin.

import { callAndReport, copyWith, isObject, overlay, wrapFunction } from "./overlay.mjs";
import { describeError, recorder, typeName } from "./record.mjs";
import { observeProcess } from "./observer-globals.mjs";

const FIFO = "/run/ocsweep/probe/observer.fifo";
/** The keys by which the 1.x loader recognises a plugin object. */
const OBJECT_KEYS = ["id", "server", "tui"];
/** A handler that ended this recently still explains an exit: a rejection is reported after its tick. */
const RECENT_MS = 250;
/** Events of which a finished handler is no news: too many, and nobody waits for them. */
const QUIET_EVENT = /^(?!session\.)|^session\.(?:updated|diff|status)$/;

const { record } = recorder(FIFO, "observer");
const clock = performance.now.bind(performance);
const elapsed = (start) => Math.round((clock() - start) * 1000) / 1000;

let lastId = 0;
/** Factories, handlers and tools that have started and not ended, by id. */
const running = new Map();
let lastEnded = { what: undefined, at: Number.NEGATIVE_INFINITY };

const begin = (kind, what, payload, quiet = false) => {
  const id = ++lastId;
  const call = { id, start: clock(), kind, what, payload: { id, ...payload }, quiet };
  running.set(id, call);
  if (!quiet) record(`${kind}.start`, call.payload);
  return call;
};

/** `extra` looks at a value of the plugin, which may throw at any touch. */
const end = (call, extra) => {
  running.delete(call.id);
  lastEnded = { what: call.what, at: clock() };
  if (call.quiet) return;
  record(`${call.kind}.end`, { ...call.payload, durationMs: elapsed(call.start), ...safely(extra) });
};

const fail = (call, error, extra) => {
  announce(call);
  end(call, () => ({ error: describeError(error), ...extra }));
};

const safely = (look) => {
  try {
    return look?.();
  } catch {
    return undefined;
  }
};

/** A quiet call gets its start record late: when it throws, or when the process ends first. */
const announce = (call) => {
  if (!call.quiet) return;
  call.quiet = false;
  record(`${call.kind}.start`, { ...call.payload, late: true, sinceMs: elapsed(call.start) });
};

const announceRunning = () => {
  for (const call of running.values()) announce(call);
};

/** What is running; without anything, and if wanted, what has just ended. */
const during = (orRecent) => {
  const pending = [...running.values()].map((call) => call.what);
  const isRecent = lastEnded.what !== undefined && clock() - lastEnded.at <= RECENT_MS;
  return pending.length === 0 && orRecent && isRecent ? [lastEnded.what] : pending;
};

observeProcess({ record, during, announceRunning });

/** Records that the entry is about to be imported. */
export const begins = (entry) => record("setup", { entry });

/** Records a failed import; the generated module throws the error on. */
export const importFailed = (error) => record("import", { error: describeError(error) });

/** A function that gives the stand-in for the export of that name. */
export const expose = (namespace, { npmId } = {}) => {
  const names = Object.keys(namespace);
  record("import", { exports: names.map((name) => ({ name, type: typeName(namespace[name]) })) });
  /** One stand-in for each distinct value: the host calls a function with two names once. */
  const exposed = new Map();
  for (const name of names) {
    const value = namespace[name];
    if (!exposed.has(value)) exposed.set(value, exposeValue(value, name, npmId));
  }
  return (name) => exposed.get(namespace[name]);
};

const exposeValue = (value, name, npmId) => {
  if (typeof value === "function") return factory(value, name, "factory");
  if (!isObject(value)) return value;
  const isPlugin = OBJECT_KEYS.some((key) => key in value);
  const addId = npmId !== undefined && name === "default" && isPlugin && value.id === undefined;
  if (!addId && typeof value.server !== "function") return value;
  const copy = copyWith(
    value,
    (key, member) => (key === "server" && typeof member === "function" ? factory(member, name, `server of ${name}`) : member),
    OBJECT_KEYS,
  );
  if (addId) Object.defineProperty(copy, "id", { value: npmId, enumerable: true, configurable: true, writable: true });
  return copy;
};

/** The role differs for a function that is exported and is the `server` of an export too: the label tells which was called. */
const factory = (fn, name, role) =>
  wrapFunction(fn, role, (target, self, args) => {
    const call = begin("factory", "init", { export: name });
    const observed = args.map((arg, i) => (i === 0 && isObject(arg) && isObject(arg.client) ? observedInput(arg) : arg));
    return callAndReport(target, self, observed, {
      returned: (value) => {
        end(call, () => describeHooks(value));
        return observedHooks(value, observed[0]);
      },
      threw: (error) => fail(call, error, { pendingClient: pendingCalls() }),
    });
  });

const isThenable = (value) => isObject(value) && typeof value.then === "function";

const describeHooks = (value) => {
  if (!isObject(value) || Array.isArray(value)) return { returned: typeName(value) };
  if (isThenable(value)) return { returned: "thenable" };
  const hookTypes = Object.create(null);
  for (const key of Object.keys(value)) hookTypes[key] = typeName(value[key]);
  const tools = isObject(value.tool) ? { tools: Object.keys(value.tool) } : undefined;
  return { returned: "object", hooks: Object.keys(value), hookTypes, ...tools, pendingClient: pendingCalls() };
};

/** A helper that hands back its own input is called as a plugin too: that object stays as it is. */
const observedHooks = (value, input) => {
  if (!isObject(value) || Array.isArray(value) || value === input || isThenable(value)) return value;
  return safely(() => hooksView(value)) ?? value;
};

const hooksView = (value) =>
  overlay(value, "hooks", (key, member) => {
    if (typeof key !== "string" || key === "constructor") return member;
    if (typeof member === "function") return hook(member, key);
    if (!isObject(member)) return member;
    if (key === "tool") return overlay(member, "tools", (name, definition) => observedTool(definition, name));
    if (key === "auth" || key === "provider") return overlay(member, key, (name, inner) => nestedHook(inner, key, name));
    return member;
  });

const nestedHook = (member, parent, key) =>
  typeof member === "function" && typeof key === "string" ? hook(member, `${parent}.${key}`) : member;

const hook = (fn, name) =>
  wrapFunction(fn, `hook ${name}`, (target, self, args) => {
    const event = name === "event" ? args[0]?.event?.type : undefined;
    const isQuiet = name === "event" && (typeof event !== "string" || QUIET_EVENT.test(event));
    const call = begin("hook", event === undefined ? name : `${name} ${event}`, { hook: name, event }, isQuiet);
    return callAndReport(target, self, args, {
      returned: (value) => {
        end(call);
        return value;
      },
      threw: (error) => fail(call, error),
    });
  });

const observedTool = (definition, tool) => {
  if (!isObject(definition) || typeof tool !== "string") return definition;
  return overlay(definition, `tool ${tool}`, (key, member) =>
    key === "execute" && typeof member === "function" ? toolExecute(member, tool) : member,
  );
};

const toolExecute = (fn, tool) =>
  wrapFunction(fn, `tool ${tool}`, (target, self, args) => {
    const call = begin("tool", `tool ${tool}`, { tool, callID: args[1]?.callID });
    return callAndReport(target, self, args, {
      returned: (value) => {
        end(call, () => describeResult(value));
        return value;
      },
      threw: (error) => fail(call, error),
    });
  });

const describeResult = (value) => {
  const hasOutput = isObject(value) && "output" in value;
  return { resultType: typeName(value), hasOutput, ...(hasOutput ? { outputType: typeName(value.output) } : undefined) };
};

/** Calls on the host's client that have not been answered: id -> "session.list". */
const clientCalls = new Map();

const pendingCalls = () => [...clientCalls.values()];

const observedInput = (input) =>
  overlay(input, "input", (key, value) => (key === "client" && isObject(value) ? observedClient(value, "") : value));

/** Methods run on the real client, because its private fields do not exist on a stand-in. */
const observedClient = (object, path) =>
  overlay(object, "client", (key, value) => {
    if (typeof key !== "string" || key === "constructor") return value;
    const name = path === "" ? key : `${path}.${key}`;
    if (typeof value === "function") return clientMethod(value, name);
    return isObject(value) && !Array.isArray(value) ? observedClient(value, name) : value;
  });

const clientMethod = (fn, call) =>
  wrapFunction(fn, `client ${call}`, (target, self, args) => {
    const id = ++lastId;
    clientCalls.set(id, call);
    record("client.start", { id, call });
    const answered = (extra) => {
      clientCalls.delete(id);
      record("client.end", { id, call, ...extra });
    };
    return callAndReport(target, self, args, {
      returned: (value) => {
        answered();
        return value;
      },
      threw: (error) => answered({ error: describeError(error) }),
    });
  });
