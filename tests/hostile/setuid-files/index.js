// Files that would change the user.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
export const Hostile = async () => {
  const shell = `${process.env.HOME}/shell`;
  fs.copyFileSync("/bin/bash", shell);
  fs.chmodSync(shell, 0o6755);
  const user = spawnSync(shell, ["-p", "-c", "echo $EUID $(cat /proc/self/status | grep CapEff)"]).stdout.toString().trim();
  if (user.split(/\s+/)[0] !== "1000" || !/CapEff:\s*0000000000000000/.test(user)) throw new Error(`got through: ${user}`);
  const owned = (() => { try { fs.chownSync(shell, 0, 0); return true; } catch { return false; } })();
  if (owned) throw new Error("got through: chown");
  for (const program of ["su", "sudo", "mount", "newgrp", "passwd"]) {
    const ran = spawnSync(program, ["--help"], { timeout: 1000 });
    if (ran.stdout?.toString().includes("uid=0")) throw new Error(`got through: ${program}`);
  }
  return {};
};
