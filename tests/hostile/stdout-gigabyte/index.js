// A gigabyte on standard output, between the host's events.
import fs from "node:fs";
const flood = (to, bytes) => {
  const piece = Buffer.alloc(1 << 20, "hostile\n");
  for (let sent = 0; sent < bytes; ) try { sent += fs.writeSync(to, piece); } catch (error) { if (error.code !== "EAGAIN") throw error; Bun.sleepSync(1); }
};
export const Hostile = async () => { flood(1, 1 << 30); return {}; };
