// Sends every signal to process 1, by every way.
import { spawnSync } from "node:child_process";
const through = [];
const refused = (what, act) => { try { act(); } catch { return; } through.push(what); };
const verdict = () => { if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`); return {}; };
export const Hostile = async () => {
  for (const signal of ["SIGKILL", "SIGTERM", "SIGSTOP", "SIGCHLD", "SIGSEGV"]) refused(signal, () => process.kill(1, signal));
  for (const target of ["1", "-- -1234567", "/proc/1"]) spawnSync("bash", ["-c", `kill -9 ${target}`], { stdio: "ignore" });
  return verdict();
};
