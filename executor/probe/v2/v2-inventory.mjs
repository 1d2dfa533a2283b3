// What the host offers, as lists of names, and what became of each plugin.
//
// Must not throw, and must end: a list that does not come in time is named as missing.

const TIMEOUT_MS = 10_000;

/** The answer of the host's API without its envelope, or undefined when it fails or takes too long. */
export const ask = async (call) => {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, TIMEOUT_MS);
  });
  try {
    return unwrapped(await Promise.race([call(), late]));
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
};

/** Hosts answer with a list, or with `{location, data}` around it. */
const unwrapped = (answer) => {
  const isEnvelope = answer !== null && typeof answer === "object" && !Array.isArray(answer) && "data" in answer;
  return isEnvelope ? answer.data : answer;
};

/** `missing` are the names of hooks that could not be registered. */
export const takeInventory = async (ctx, missing = []) => {
  const [tools, agents, commands, skills, mcp, providers, models, plugins] = await Promise.all([
    ask(() => ctx.tool.list()),
    ask(() => ctx.agent.list()),
    ask(() => ctx.command.list()),
    ask(() => ctx.skill.list()),
    ask(() => ctx.mcp.list()),
    ask(() => (ctx.provider ?? ctx.catalog.provider).list()),
    ask(() => (ctx.model ?? ctx.catalog.model).list()),
    ask(() => ctx.plugin.list()),
  ]);
  const lists = { tools, agents, commands, skills, mcp, providers, models, plugins };
  const absent = Object.entries(lists).filter(([, list]) => list === null || typeof list !== "object").map(([name]) => name);
  return {
    tools: names(tools, "id", "name"),
    agents: names(agents, "id", "name"),
    commands: names(commands, "name", "id"),
    skills: names(skills, "name", "id"),
    mcp: names(mcp, "name", "id"),
    providers: names(providers, "id", "name"),
    models: entries(models).map(modelName).filter((name) => name !== undefined),
    plugins: entries(plugins).map(pluginOf),
    missing: [...absent, ...missing],
  };
};

const entries = (list) => (Array.isArray(list) ? list : []);

/** A map is keyed by the names. */
const names = (list, first, second) => {
  if (list !== null && typeof list === "object" && !Array.isArray(list)) return Object.keys(list);
  return entries(list).map((item) => (typeof item === "string" ? item : (item?.[first] ?? item?.[second]))).filter(Boolean);
};

const modelName = (model) => {
  if (typeof model === "string") return model;
  return model?.providerID === undefined ? model?.id : `${model.providerID}/${model.id}`;
};

/** The state of a plugin is an object of its own in newer hosts, and spread over the entry in older ones. */
const pluginOf = (plugin) => {
  if (plugin === null || typeof plugin !== "object") return { id: String(plugin) };
  const state = plugin.state !== null && typeof plugin.state === "object" ? plugin.state : plugin;
  const status = state.status ?? (typeof plugin.state === "string" ? plugin.state : undefined);
  return { id: plugin.id, source: plugin.source, status, error: errorText(state.error), features: plugin.features };
};

const errorText = (error) => {
  if (error === undefined || error === null) return undefined;
  if (typeof error === "object") return String(error.message ?? JSON.stringify(error));
  return String(error);
};
