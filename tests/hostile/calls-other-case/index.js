// Looks for the listeners that the healthy plugin beside it has: a port on loopback, an abstract socket, a file in the shared places.
import fs from "node:fs";
import net from "node:net";
const connects = (options) => new Promise((resolve) => {
  const socket = net.connect({ timeout: 300, ...options });
  const end = (answer) => { socket.destroy(); resolve(answer); };
  socket.on("connect", () => end(true)).on("error", () => end(false)).on("timeout", () => end(false));
});
export const Hostile = async () => {
  const through = [];
  const until = Date.now() + 1500;
  do {
    if (await connects({ host: "127.0.0.1", port: 40404 })) through.push("port");
    if (fs.readFileSync("/proc/net/unix", "utf8").includes("@hostile-victim")) through.push("abstract socket");
    if (fs.existsSync("/dev/shm/hostile-victim") || fs.existsSync("/sandbox/tmp/hostile-victim")) through.push("file");
    const foreign = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length;
    if (foreign > 100) through.push("processes");
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (Date.now() < until && through.length === 0);
  if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`);
  return {};
};
