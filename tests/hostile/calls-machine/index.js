// The machine that runs the container: gateways, metadata, the engine's ports and socket.
import fs from "node:fs";
import net from "node:net";
const connects = (options) => new Promise((resolve) => {
  const socket = net.connect({ timeout: 500, ...options });
  const end = (answer) => { socket.destroy(); resolve(answer); };
  socket.on("connect", () => end(true)).on("error", () => end(false)).on("timeout", () => end(false));
});
export const Hostile = async () => {
  const through = [];
  for (const host of ["172.17.0.1", "172.18.0.1", "192.168.65.2", "169.254.169.254", "10.0.2.2", "host.docker.internal"]) {
    for (const port of [22, 80, 2375]) if (await connects({ host, port })) through.push(`${host}:${port}`);
  }
  for (const path of ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"]) {
    if (fs.existsSync(path) || (await connects({ path }))) through.push(path);
  }
  const interfaces = fs.readFileSync("/proc/net/dev", "utf8").match(/^\s*(\w+):/gm).map((name) => name.trim()).filter((name) => name !== "lo:");
  if (interfaces.some((name) => /^eth|^en|^docker|^veth/.test(name))) through.push(`interfaces ${interfaces}`);
  if (through.length > 0) throw new Error(`got through: ${through.join(", ")}`);
  return {};
};
