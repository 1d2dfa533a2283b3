// The probe plugin for opencode 1.x: records what passes through the hooks, and once the inventory.
//
// Must not change what it sees, must not throw, and must do nothing without the option `out`.

import { CONTEXT_LIMIT, recorder, redact } from "./record.mjs";

const INVENTORY_TIMEOUT_MS = 10_000;
/** One record for each streamed token would drown everything else. */
const SKIPPED_EVENTS = new Set(["message.part.delta"]);

/** The factory for `phase`, which is "pre" or "post". */
export const probe = (phase) => async (input, options) => {
  const { record, active } = recorder(options?.out, phase);
  if (!active) return {};
  record("setup", { directory: input.directory, worktree: input.worktree });
  const hooks = contentHooks(record);
  if (phase === "post") {
    hooks.event = async ({ event }) => {
      if (!SKIPPED_EVENTS.has(event.type)) record("event", { type: event.type, properties: event.properties });
    };
    addInventory(hooks, record, input.client);
  }
  return guarded(hooks);
};

/** No hook of a probe may throw into the host, whatever shape a later host hands to it. */
const guarded = (hooks) => {
  const safe = (hook) => async (...args) => {
    try {
      await hook(...args);
    } catch {
      // an unknown payload shape costs the record, not the run
    }
  };
  return Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, safe(hook)]));
};

const contentHooks = (record) => {
  /** The host does not tell `shell.env` its command: it is the argument of the same call. */
  const commands = new Map();
  return {
    ...messageHooks(record),
    "tool.execute.before": async (input, output) => {
      if (typeof output.args?.command === "string") commands.set(input.callID, output.args.command);
      record("tool.before", { tool: input.tool, callID: input.callID, input: output.args });
    },
    "tool.execute.after": async (input, output) => {
      commands.delete(input.callID);
      const result = { title: output.title, output: output.output, metadata: output.metadata };
      record("tool.after", { tool: input.tool, callID: input.callID, status: "completed", input: input.args, result });
    },
    "shell.env": async (input, output) =>
      record("shell.before", {
        command: input.command ?? commands.get(input.callID),
        cwd: input.cwd,
        env: redact(output.env),
        callID: input.callID,
      }),
  };
};

const messageHooks = (record) => ({
  "chat.message": async (input, output) =>
    record("session.prompt", { sessionID: input.sessionID, parts: output.parts, message: output.message }),
  "experimental.chat.system.transform": async (_input, output) =>
    record("session.context", { system: output.system }, { text: CONTEXT_LIMIT }),
  "chat.params": async (input, output) => record("model.request", { ...requestOf(input), params: output }),
  "chat.headers": async (input, output) =>
    record("model.request", { ...requestOf(input), headers: redact(output.headers) }),
});

const requestOf = (input) => ({
  sessionID: input.sessionID,
  agent: typeof input.agent === "string" ? input.agent : input.agent?.name,
  model: input.model?.id ?? input.model,
});

/** The inventory is taken while the first prompt waits, because the host may end right after it. */
const addInventory = (hooks, record, client) => {
  const prompt = hooks["chat.message"];
  let taken = false;
  hooks["chat.message"] = async (input, output) => {
    await prompt(input, output);
    if (taken) return;
    taken = true;
    record("inventory", await takeInventory(client), { arrays: false });
  };
};

const takeInventory = async (client) => {
  const [tools, agents, commands, mcp, providers, skills, config] = await Promise.all([
    ask(() => client.tool.ids()),
    ask(() => client.app.agents()),
    ask(() => client.command.list()),
    ask(() => client.mcp.status()),
    ask(() => client.config.providers()),
    ask(() => client._client.get({ url: "/skill" })),
    ask(() => client.config.get()),
  ]);
  const known = Array.isArray(providers) ? providers : (providers?.providers ?? []);
  return {
    tools: names(tools),
    agents: names(agents),
    commands: names(commands),
    skills: names(skills),
    mcp: mcp && typeof mcp === "object" ? Object.keys(mcp) : [],
    providers: known.map((provider) => provider.id),
    models: known.flatMap((provider) => Object.keys(provider.models ?? {}).map((model) => `${provider.id}/${model}`)),
    plugins: (config?.plugin ?? []).map((spec) => (Array.isArray(spec) ? spec[0] : spec)),
    missing: Object.entries({ tools, agents, commands, mcp, providers, skills, config })
      .filter(([, value]) => value === undefined)
      .map(([name]) => name),
  };
};

const names = (items) =>
  Array.isArray(items) ? items.map((item) => (typeof item === "string" ? item : (item?.name ?? item?.id))) : [];

/** One answer of the host's API, or undefined when it fails or takes too long. */
const ask = async (call) => {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, INVENTORY_TIMEOUT_MS);
  });
  try {
    const answer = await Promise.race([call(), late]);
    return answer?.data ?? undefined;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
};
