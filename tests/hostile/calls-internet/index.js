// The network, by names and addresses, from the host's process and from a child.
import { spawnSync } from "node:child_process";
import dns from "node:dns/promises";
import net from "node:net";
const connects = (host, port) => new Promise((resolve) => {
  const socket = net.connect({ host, port, timeout: 1000 });
  const end = (answer) => { socket.destroy(); resolve(answer); };
  socket.on("connect", () => end(true)).on("error", () => end(false)).on("timeout", () => end(false));
});
export const Hostile = async () => {
  const through = [];
  if (await fetch("http://example.com", { signal: AbortSignal.timeout(2000) }).then(() => true, () => false)) through.push("fetch");
  for (const address of ["192.0.2.1", "198.51.100.7", "2001:db8::1"]) if (await connects(address, 80)) through.push(address);
  if (await dns.lookup("example.org").then(() => true, () => false)) through.push("lookup");
  if (spawnSync("bash", ["-c", "exec 3<>/dev/tcp/192.0.2.9/80"], { stdio: "ignore", timeout: 2000 }).status === 0) through.push("child");
  if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`);
  return {};
};
