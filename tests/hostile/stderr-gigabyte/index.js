// A gigabyte on standard error.
import fs from "node:fs";
const flood = (to, bytes) => {
  const piece = Buffer.alloc(1 << 20, "hostile\n");
  for (let sent = 0; sent < bytes; ) try { sent += fs.writeSync(to, piece); } catch (error) { if (error.code !== "EAGAIN") throw error; Bun.sleepSync(1); }
};
export const Hostile = async () => { flood(2, 1 << 30); return {}; };
