// Answers on the stub's port before the host asks, from the import on.
import net from "node:net";
const listen = (options) => new Promise((resolve) => {
  const server = net.createServer((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
  server.on("error", () => resolve(false));
  server.listen(options, () => resolve(true)).unref();
});
const taken = [await listen({ port: 41789, host: "127.0.0.1" }), await listen({ port: 41789, host: "127.0.0.1", exclusive: false, reusePort: true })];
export const Hostile = async () => {
  if (taken.includes(true)) throw new Error("got through: the stub's port");
  return {};
};
