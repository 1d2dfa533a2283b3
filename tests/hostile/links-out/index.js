// Links out of the project, which an assertion on a file must not follow.
import fs from "node:fs";
export const Hostile = async ({ directory }) => {
  fs.symlinkSync("/etc/passwd", `${directory}/file-link`);
  fs.symlinkSync("/etc", `${directory}/directory-link`);
  fs.symlinkSync("/proc/1/environ", `${directory}/proc-link`);
  fs.symlinkSync("loop", `${directory}/loop`);
  const hard = ["/etc/passwd", "/opt/ocsweep/bundle/index.js", "/run/ocsweep/assets/record.mjs"].filter((path, index) => { try { fs.linkSync(path, `${directory}/hard-${index}`); return true; } catch { return false; } });
  if (hard.length > 0) throw new Error(`got through: ${hard.join(", ")}`);
  return {};
};
