// Requests to the stub that two readers would read differently.
import net from "node:net";
const send = (text) => new Promise((resolve) => {
  const socket = net.connect(41789, "127.0.0.1", () => socket.write(text));
  setTimeout(() => socket.destroy(), 500);
  socket.on("error", resolve).on("close", resolve).on("data", () => {});
});
export const Hostile = async () => {
  const inner = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
  await send(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${inner.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`);
  await send(`POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n${inner}`);
  await send(`GET / HTTP/9.9\r\n\r\n`);
  await send(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n{}`);
  await send(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(1 << 20)}\r\n\r\n`);
  await send(Buffer.from([0xff, 0x00, 0x0a, 0x0d]));
  return {};
};
