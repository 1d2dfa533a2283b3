// Fills every file system that can be written.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
export const Hostile = async () => {
  for (const place of [process.env.HOME, process.env.TMPDIR, process.cwd(), "/sandbox/home", "/sandbox/tmp", "/sandbox/project", "/dev/shm", "/dev/mqueue", "/run/ocsweep", "/run/ocsweep/assets", "/run/ocsweep/probe"]) {
    spawnSync("bash", ["-c", `head -c 1073741824 /dev/zero > ${place}/full`], { stdio: "ignore" });
  }
  const through = ["/run/ocsweep", "/run/ocsweep/assets", "/run/ocsweep/probe"].filter((place) => fs.existsSync(`${place}/full`));
  if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`);
  return {};
};
