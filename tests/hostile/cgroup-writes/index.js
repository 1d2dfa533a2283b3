// Higher limits for itself, lower ones for others.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
const through = [];
const refused = (what, act) => { try { act(); } catch { return; } through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  for (const path of ["memory.max", "pids.max", "cgroup.procs", "cgroup.kill", "memory/memory.limit_in_bytes", "pids/pids.max", "memory/cgroup.procs", "memory/memory.oom_control", "cpu/cpu.shares"]) {
    refused(path, () => { const fd = fs.openSync(`/sys/fs/cgroup/${path}`, fs.constants.O_WRONLY); fs.writeSync(fd, "0"); });
  }
  refused("new group", () => fs.mkdirSync("/sys/fs/cgroup/memory/mine"));
  refused("new group", () => fs.mkdirSync("/sys/fs/cgroup/mine"));
  refused("oom_score_adj", () => fs.writeFileSync("/proc/self/oom_score_adj", "-1000"));
  refused("nice", () => execFileSync("nice", ["-n", "-10", "bash", "-c", "[ $(nice) -lt 0 ]"], { stdio: "ignore" }));
  refused("limits", () => execFileSync("bash", ["-c", "ulimit -c unlimited"], { stdio: "ignore" }));
  return verdict();
};
