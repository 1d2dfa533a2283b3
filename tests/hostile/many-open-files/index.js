// Opens files until no more can be had, in this process and in a child, and lets them go.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
export const Hostile = async () => {
  const held = [];
  let limit = false;
  for (let file = 0; file < 100000 && !limit; file++) try { held.push(fs.openSync("/dev/null", "r")); } catch { limit = true; }
  for (const file of held) fs.closeSync(file);
  if (!limit) throw new Error(`got through: ${held.length} open files`);
  spawnSync("bash", ["-c", "ulimit -n 1000000 && exit 7; exit 0"]).status === 7 && (() => { throw new Error("got through: a higher limit"); })();
  return {};
};
