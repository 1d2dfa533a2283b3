// Overwrites, removes and reads what watches it.
import fs from "node:fs";
const through = [];
const refused = (what, act) => { try { act(); } catch { return; } through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  const assets = "/run/ocsweep/assets";
  for (const name of ["record.mjs", "probe-core.mjs", "probe-pre.mjs", "probe-post.mjs", "observer.mjs", "observer-runtime.mjs"]) {
    refused(`write ${name}`, () => fs.writeFileSync(`${assets}/${name}`, ""));
    refused(`remove ${name}`, () => fs.unlinkSync(`${assets}/${name}`));
    refused(`rename ${name}`, () => fs.renameSync(`${assets}/${name}`, `${assets}/x`));
    refused(`chmod ${name}`, () => fs.chmodSync(`${assets}/${name}`, 0o777));
  }
  for (const name of ["pre", "observer", "post"]) {
    const path = `/run/ocsweep/probe/${name}.fifo`;
    refused(`read ${name}`, () => fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK));
    refused(`remove ${name}`, () => fs.unlinkSync(path));
    refused(`chmod ${name}`, () => fs.chmodSync(path, 0o777));
  }
  refused("list", () => fs.readdirSync("/run/ocsweep/probe"));
  refused("new file", () => fs.writeFileSync(`${assets}/new.mjs`, ""));
  return verdict();
};
