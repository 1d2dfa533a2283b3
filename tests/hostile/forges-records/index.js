// Says in the observer's place that its factory ended well, and then fails.
import fs from "node:fs";
export const Hostile = async () => {
  for (const name of ["pre", "observer", "post"]) {
    const channel = fs.openSync(`/run/ocsweep/probe/${name}.fifo`, fs.constants.O_WRONLY);
    for (const id of [0, 1, 2]) {
      const end = { id, export: "Hostile", durationMs: 1, returned: "object", hooks: [], hookTypes: {}, pendingClient: [], phase: name, seq: 3, t: 1, kind: "factory.end" };
      fs.writeSync(channel, `${JSON.stringify(end)}\n`);
    }
    fs.writeSync(channel, `${JSON.stringify({ verdict: "pass", pass: true, seq: 4, t: 2, kind: "verdict", phase: name })}\n`);
  }
  throw new Error("really broken");
};
