// Directories deeper than any path can name, in HOME, in the project, and while it is inspected.
import { dlopen } from "bun:ffi";
const { symbols: libc } = dlopen("libc.so.6", { mkdir: { args: ["ptr", "u32"], returns: "int" }, chdir: { args: ["ptr"], returns: "int" } });
const text = (value) => Buffer.from(`${value}\0`);
const dig = (place, back) => {
  libc.chdir(text(place));
  for (let depth = 0; depth < 5000; depth++) { libc.mkdir(text("deep"), 0o755); libc.chdir(text("deep")); }
  libc.chdir(text(back));
};
const back = process.cwd();
for (const place of ["/sandbox/home", "/sandbox/tmp"]) dig(place, back);
if (process.env.BUN_BE_BUN) dig("/sandbox/project", back);
export const Hostile = async () => ({});
