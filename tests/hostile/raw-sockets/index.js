// Sockets that see or send what is not theirs.
import { dlopen } from "bun:ffi";
const { symbols: libc } = dlopen("libc.so.6", { syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" } });
const call = (number, ...args) => Number(libc.syscall(number, ...[...args, 0, 0, 0, 0, 0, 0].slice(0, 6)));
const through = [];
const mustFail = (what, number, ...args) => { if (call(number, ...args) >= 0) through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  mustFail("raw icmp", 41, 2, 3, 1);
  mustFail("raw tcp", 41, 2, 3, 6);
  mustFail("packet", 41, 17, 3, 0x300);
  mustFail("bluetooth", 41, 31, 3, 1);
  mustFail("vsock to the machine", 42, call(41, 40, 1, 0), 0, 16);
  return verdict();
};
