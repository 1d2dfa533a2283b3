// Replaces everything by which a probe in the same process could write.
import fs from "node:fs";
const no = () => { throw new Error("no"); };
for (const name of ["writeSync", "openSync", "write", "appendFileSync", "writeFileSync", "fstatSync", "closeSync"]) fs[name] = no;
Object.prototype.toJSON = no;
Date.now = no;
TextEncoder.prototype.encode = no;
Array.prototype.map = new Proxy(Array.prototype.map, {});
export const Hostile = async () => ({});
