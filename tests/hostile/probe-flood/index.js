// Floods each channel of the probes: lines, and then one that never ends.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  for (const name of ["pre", "observer", "post"]) {
    const path = `/run/ocsweep/probe/${name}.fifo`;
    spawnSync("bash", ["-c", `(yes '{"kind":"noise"}' | head -c 8388608; head -c 33554432 /dev/zero; echo) > ${path}`], { stdio: "ignore" });
  }
  return {};
};
