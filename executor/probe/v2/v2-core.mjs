// The probe plugin for opencode 2.x: records what passes through the hooks, and once the inventory.
//
// Must not change what it sees, must not throw, and must do nothing without the option `out`. A member of
// the context that a host does not have is named as missing, never touched twice.

import { observeProcess } from "./observer-globals.mjs";
import { CONTEXT_LIMIT, recorder, redact } from "./record.mjs";
import { ask, takeInventory } from "./v2-inventory.mjs";

const OBSERVER = "/run/ocsweep/probe/observer.fifo";
/** One record for each streamed piece would drown everything else. */
const SKIPPED_EVENTS = /\.delta$/;
/** A session has nothing more to do for now. */
const IDLE_EVENTS = /^session\.execution\.(?:succeeded|failed|interrupted)$/;

/** Whether the plugin's own setup is on; both probes import this one module. */
let setupRuns = false;

/** Watches exits, connections and listeners of the process, if somebody reads of them. */
export const observeHost = (out = OBSERVER) => {
  const { record, active } = recorder(out, "observer");
  if (!active) return;
  try {
    observeProcess({ record, during: () => (setupRuns ? ["setup"] : []), announceRunning: () => {} });
  } catch {
    // a runtime without these parts stays unwatched
  }
};

/** The setup for `phase`, which is "pre" or "post". */
export const probe = (phase) => async (ctx) => {
  if (phase === "post") setupRuns = false;
  const { record, active } = recorder(member(ctx, "options")?.out, phase);
  if (!active) return undefined;
  const missing = [];
  const state = { ctx, record, missing, inventory: phase === "post" };
  // The setup record of the one probe starts the plugin's turn and that of the other ends it.
  const place = placeOf(member(ctx, "location"));
  if (phase === "post") record("setup", place);
  await Promise.all(Object.entries(HOOKS).map(([name, read]) => register(state, name, read)));
  const stop = phase === "post" ? follow(state) : undefined;
  if (phase === "pre") {
    record("setup", place);
    setupRuns = true;
  }
  return stop;
};

const placeOf = (location) => ({
  directory: location?.directory,
  worktree: location?.project?.canonical ?? location?.project?.directory,
});

/** A member of a host's object, or undefined. */
const member = (object, name) => {
  try {
    return object?.[name];
  } catch {
    return undefined;
  }
};

/** `domain name` of a hook -> the record that it leaves: kind, payload, limits. */
const HOOKS = {
  "tool execute.before": (event) => ["tool.before", { ...callOf(event), input: event.input }],
  "tool execute.after": (event) => ["tool.after", { ...callOf(event), input: event.input, ...resultOf(event) }],
  "shell create.before": ({ command, cwd, timeout, shell, env }) => [
    "shell.before",
    { command, cwd, timeout, shell, env: redact(env) },
  ],
  "session prompt": ({ sessionID, messageID, prompt, metadata, delivery }) => [
    "session.prompt",
    { sessionID, messageID, text: typeof prompt === "string" ? prompt : prompt?.text, prompt, metadata, delivery },
  ],
  "session context": (event) => [
    "session.context",
    { ...requestOf(event), system: textsOf(event.system), tools: Object.keys(event.tools ?? {}) },
    { text: CONTEXT_LIMIT, arrays: false },
  ],
  "session model.request": (event) => [
    "model.request",
    { ...requestOf(event), baseURL: event.baseURL, headers: redact(event.headers) },
  ],
  "permission evaluate": ({ sessionID, agent, action, resources, metadata, source, effect, message }) => [
    "permission.evaluate",
    { sessionID, agent, action, resources, metadata, source, effect, message },
  ],
};

/** The id of a call was named differently in earlier hosts. Calls inside Code Mode share the id of the outer one. */
const callOf = ({ tool, id, callID, sessionID, agent, messageID }) => ({ tool, callID: id ?? callID, sessionID, agent, messageID });

const requestOf = ({ sessionID, agent, model, kind }) => ({
  sessionID,
  agent: typeof agent === "string" ? agent : (agent?.id ?? agent?.name),
  model: model?.id ?? model,
  requestKind: kind,
});

const textsOf = (system) =>
  (Array.isArray(system) ? system : system === undefined ? [] : [system]).map((part) =>
    typeof part === "string" ? part : (part?.text ?? part),
  );

/** `status` with `result` or `error`. An earlier host gave `result{type, value}` and `output{structured, content}`. */
const resultOf = ({ status, result, output, error }) => {
  const isOld = status === undefined && result !== null && typeof result === "object" && "value" in result;
  if (isOld && result.type === "error") return { status: "error", error: { message: result.value } };
  if (isOld) return { status: "completed", result: { content: output?.content, output: result.value } };
  const failed = status === "error" || (status === undefined && error !== undefined);
  return failed ? { status: "error", error } : { status: status ?? "completed", result };
};

/** Registers a hook of its own for each record; a host without it, or one that refuses, costs the record and not the run. */
const register = async (state, name, read) => {
  const [domain, hook] = name.split(" ");
  const on = (event) => {
    try {
      state.record(...read(event));
      // The inventory is taken while the first prompt waits, because the host may end right after it.
      if (domain === "session") return inventory(state);
    } catch {
      // an unknown payload shape costs the record, not the run
    }
    return undefined;
  };
  try {
    await state.ctx[domain].hook(hook, on);
  } catch {
    state.missing.push(`hook ${domain}.${hook}`);
  }
};

const inventory = (state) => {
  if (!state.inventory) return undefined;
  state.inventory = false;
  return takeInventory(state.ctx, state.missing).then(
    (lists) => state.record("inventory", lists, { arrays: false }),
    () => undefined,
  );
};

/** Records events in the background; gives what ends it. */
const follow = (state) => {
  const end = new AbortController();
  const read = async () => {
    for await (const event of await state.ctx.event.subscribe({ signal: end.signal })) {
      const type = event?.type;
      if (typeof type !== "string" || SKIPPED_EVENTS.test(type)) continue;
      state.record("event", { type, properties: event.properties ?? event.data });
      if (IDLE_EVENTS.test(type)) void snapshot(state);
    }
  };
  read().catch(() => {
    if (!end.signal.aborted) state.missing.push("events");
  });
  return () => end.abort();
};

/** What the host keeps for plugins, when it tells: the last of these records is the state at the end. */
const snapshot = async ({ ctx, record }) => {
  const scan = member(member(ctx, "storage"), "scan");
  if (typeof scan !== "function") return;
  const entries = await ask(async () => {
    const found = await scan.call(ctx.storage);
    if (typeof found?.[Symbol.asyncIterator] !== "function") return found;
    const list = [];
    for await (const entry of found) list.push(entry);
    return list;
  });
  if (entries !== undefined) record("storage", { entries });
};
