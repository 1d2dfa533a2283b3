// Calls of the kernel that a case has no business with.
import { dlopen } from "bun:ffi";
const { symbols: libc } = dlopen("libc.so.6", { syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" } });
const call = (number, ...args) => Number(libc.syscall(number, ...[...args, 0, 0, 0, 0, 0, 0].slice(0, 6)));
const through = [];
const mustFail = (what, number, ...args) => { if (call(number, ...args) >= 0) through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  mustFail("add_key", 248, 0, 0, 0, 0, -3);
  mustFail("keyctl", 250, 0, -3, 1);
  mustFail("bpf", 321, 0, 0, 0);
  mustFail("perf_event_open", 298, 0, 0, -1, -1, 0);
  mustFail("io_uring_setup", 425, 8, 0);
  mustFail("userfaultfd", 323, 0);
  mustFail("init_module", 175, 0, 0, 0);
  mustFail("kexec_load", 246, 0, 0, 0, 0);
  mustFail("open_by_handle_at", 304, -100, 0, 0);
  mustFail("quotactl", 179, 0, 0, 0, 0);
  mustFail("syslog", 103, 3, 0, 0);
  mustFail("ioperm", 173, 0, 1, 1);
  return verdict();
};
