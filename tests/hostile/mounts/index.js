// Mounts, namespaces, roots.
import { dlopen } from "bun:ffi";
const { symbols: libc } = dlopen("libc.so.6", { syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" } });
const call = (number, ...args) => Number(libc.syscall(number, ...[...args, 0, 0, 0, 0, 0, 0].slice(0, 6)));
const through = [];
const mustFail = (what, number, ...args) => { if (call(number, ...args) >= 0) through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  const text = (value) => new TextEncoder().encode(value + "\0");
  mustFail("unshare user", 272, 0x10000000);
  mustFail("unshare mount", 272, 0x20000);
  mustFail("unshare net", 272, 0x40000000);
  mustFail("clone user", 56, 0x10000000 | 17);
  mustFail("mount", 165, 0, 0, 0, 4096, 0);
  mustFail("umount", 166, 0, 2);
  mustFail("chroot", 161, 0);
  mustFail("pivot_root", 155, 0, 0);
  mustFail("setns", 308, 0, 0);
  mustFail("open_tree", 428, -100, 0, 1);
  mustFail("fsopen", 430, 0, 0);
  mustFail("swapon", 167, 0, 0);
  mustFail("reboot", 169, 0xfee1dead, 672274793, 0x1234567, 0);
  mustFail("sethostname", 170, 0, 0);
  return verdict();
};
