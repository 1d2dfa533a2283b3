// Daemons that left their parent, session and signals behind.
import { spawnSync } from "node:child_process";
export const Hostile = async () => {
  const daemon = "trap '' TERM HUP INT QUIT; while :; do sleep 7; done";
  spawnSync("bash", ["-c", `(setsid bash -c "${daemon}" </dev/null >/dev/null 2>&1 &) ; (setsid setsid bash -c "${daemon}" &)`], { stdio: "ignore" });
  return {};
};
