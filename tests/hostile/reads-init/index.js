// Reads and writes process 1 through /proc.
import fs from "node:fs";
const through = [];
const refused = (what, act) => { try { act(); } catch { return; } through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  for (const name of ["environ", "maps", "mem", "exe", "root/etc/passwd", "cwd/etc/passwd", "fd/0", "fd/1", "fd/2", "fdinfo/1", "auxv", "stack", "syscall", "io"]) {
    refused(`read ${name}`, () => fs.readFileSync(`/proc/1/${name}`));
  }
  for (const name of ["mem", "fd/1", "oom_score_adj", "root/tmp/x", "comm"]) refused(`write ${name}`, () => fs.writeFileSync(`/proc/1/${name}`, "OF"));
  refused("list fd", () => fs.readdirSync("/proc/1/fd"));
  for (const path of ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/kcore", "/dev/mem", "/dev/kmsg", "/sys/kernel/uevent_helper"]) refused(path, () => fs.writeFileSync(path, "|/bin/sh"));
  return verdict();
};
