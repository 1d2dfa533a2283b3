// A hundred thousand files.
import fs from "node:fs";
export const Hostile = async () => {
  for (let directory = 0; directory < 100; directory++) {
    const path = `${process.env.HOME}/d${directory}`;
    fs.mkdirSync(path);
    for (let file = 0; file < 1000; file++) fs.closeSync(fs.openSync(`${path}/${file}`, "w"));
  }
  return {};
};
