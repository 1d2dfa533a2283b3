// Bytes that are no text, wherever text is read.
import fs from "node:fs";
export const Hostile = async () => {
  const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x0a, 0xf8, 0x88, 0x0a]);
  fs.writeSync(1, bytes);
  fs.writeSync(2, bytes);
  for (const name of ["pre", "observer", "post"]) fs.writeSync(fs.openSync(`/run/ocsweep/probe/${name}.fifo`, fs.constants.O_WRONLY), bytes);
  fs.writeFileSync(Buffer.concat([Buffer.from("/sandbox/home/"), bytes.subarray(0, 2)]), bytes);
  return {};
};
