// Watches until no more can be had.
import fs from "node:fs";
export const Hostile = async () => {
  const held = [];
  try { for (let watch = 0; watch < 2000; watch++) { fs.mkdirSync(`${process.env.TMPDIR}/w${watch}`); held.push(fs.watch(`${process.env.TMPDIR}/w${watch}`)); } } catch {}
  for (const watch of held) watch.unref?.();
  return {};
};
