// A hundred thousand files while it is inspected, in trees that nobody may enter.
import fs from "node:fs";
if (process.env.BUN_BE_BUN) {
  for (let directory = 0; directory < 100; directory++) {
    const path = `/sandbox/home/d${directory}`;
    fs.mkdirSync(path);
    for (let file = 0; file < 1000; file++) fs.closeSync(fs.openSync(`${path}/${file}`, "w"));
    fs.chmodSync(path, 0);
  }
  fs.chmodSync("/sandbox/home", 0);
  fs.chmodSync("/sandbox/tmp", 0);
  fs.chmodSync("/sandbox/project", 0);
}
export const Hostile = async () => ({});
