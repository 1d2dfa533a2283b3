// Healthy: a tool, a hook, and listeners that a case beside it must not reach. Every row of it must be as if it were alone.
import fs from "node:fs";
import net from "node:net";
export const Victim = async () => {
  const connections = [];
  for (const where of [{ port: 40404, host: "127.0.0.1" }, { path: "\0hostile-victim" }]) net.createServer((socket) => { connections.push(1); socket.destroy(); }).on("error", () => {}).listen(where).unref();
  for (const place of ["/dev/shm", "/sandbox/tmp"]) fs.writeFileSync(`${place}/hostile-victim`, "x");
  return {
    "chat.params": async () => { if (connections.length > 0) throw new Error("somebody connected"); },
    tool: { victim_echo: { description: "echo", args: {}, execute: async () => "untouched" } },
  };
};
