// Another time for everybody.
import { spawnSync } from "node:child_process";
import { dlopen } from "bun:ffi";
const { symbols: libc } = dlopen("libc.so.6", { syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" } });
const call = (number, ...args) => Number(libc.syscall(number, ...[...args, 0, 0, 0, 0, 0, 0].slice(0, 6)));
const through = [];
const mustFail = (what, number, ...args) => { if (call(number, ...args) >= 0) through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  mustFail("settimeofday", 164, 0, 0) ;
  mustFail("clock_settime", 227, 0, 0);
  mustFail("adjtimex", 159, 0);
  const before = Date.now();
  spawnSync("date", ["-s", "2001-01-01"], { stdio: "ignore" });
  if (Math.abs(Date.now() - before) > 3600000) through.push("date");
  return verdict();
};
