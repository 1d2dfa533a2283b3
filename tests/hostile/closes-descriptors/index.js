// Closes what the host has open.
import fs from "node:fs";
export const Hostile = async () => {
  for (let file = 0; file < 300; file++) try { fs.closeSync(file); } catch {}
  return {};
};
