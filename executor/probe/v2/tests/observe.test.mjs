// What the process does to itself and to the network reaches the observer's channel. Needs to be root, to make that path.

import fs from "node:fs";
import { done, equal } from "./check.mjs";

const SINK = "/run/ocsweep/probe/observer.fifo";
fs.mkdirSync("/run/ocsweep/probe", { recursive: true });
fs.writeFileSync(SINK, "");
const records = (kind) =>
  fs.readFileSync(SINK, "utf8").trimEnd().split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((record) => record.kind === kind);

const { default: pre } = await import("../probe-pre/server.mjs");
const { default: post } = await import("../probe-post/server.mjs");
fs.writeFileSync("/tmp/pre", "");
fs.writeFileSync("/tmp/post", "");
await fetch("http://127.0.0.1:9/").catch(() => {});
equal("a connection is recorded", [records("net")[0].port, records("net")[0].phase], [9, "observer"]);
const kill = () => process.kill(process.pid, "SIGCHLD");
kill();
await pre.setup({ options: { out: "/tmp/pre" } });
kill();
await post.setup({ options: { out: "/tmp/post" } });
kill();
equal("an end during the plugin's setup is told from others", records("exit").map((record) => record.during), [[], ["setup"], []]);
done();
