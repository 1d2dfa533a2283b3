// One line of 100 MB on standard output, in the midst of the host's events.
import fs from "node:fs";
const flood = (to, bytes) => {
  const piece = Buffer.alloc(1 << 20, "x");
  for (let sent = 0; sent < bytes; ) try { sent += fs.writeSync(to, piece); } catch (error) { if (error.code !== "EAGAIN") throw error; Bun.sleepSync(1); }
};
export const Hostile = async () => { flood(1, 100 << 20); return {}; };
