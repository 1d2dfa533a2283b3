// Writes to the host binary, the agent, its own bundle and the image.
import fs from "node:fs";
const through = [];
const refused = (what, act) => { try { act(); } catch { return; } through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  for (const path of ["/opt/ocsweep/host/opencode", "/opt/ocsweep/agent/ocsweep-agent", "/opt/ocsweep/bundle/index.js", "/etc/passwd", "/bin/bash"]) {
    refused(`write ${path}`, () => fs.appendFileSync(path, "x"));
    refused(`remove ${path}`, () => fs.unlinkSync(path));
    refused(`chmod ${path}`, () => fs.chmodSync(path, 0o777));
  }
  for (const path of ["/opt/ocsweep/host", "/opt/ocsweep/agent", "/opt/ocsweep/bundle", "/opt", "/usr/bin", "/etc", "/"]) refused(`new in ${path}`, () => fs.writeFileSync(`${path}/new`, ""));
  return verdict();
};
