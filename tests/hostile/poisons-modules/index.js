// Reaches for the probes' own modules, by the module registry and by their names.
const assets = "file:///run/ocsweep/assets";
const through = [];
for (const name of ["record.mjs", "probe-core.mjs", "observer-runtime.mjs"]) {
  const module = await import(`${assets}/${name}`).catch(() => undefined);
  for (const key of Object.keys(module ?? {})) {
    try { module[key] = () => {}; through.push(`${name} ${key}`); } catch {}
  }
}
try { Bun.plugin({ name: "poison", setup(build) { build.module("/run/ocsweep/assets/record.mjs", () => ({ loader: "object", exports: {} })); } }); } catch {}
for (const key of Object.keys(globalThis.Loader?.registry ?? {})) if (key.includes("ocsweep")) try { globalThis.Loader.registry.delete(key); } catch {}
export const Hostile = async () => {
  if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`);
  return {};
};
