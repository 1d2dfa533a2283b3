// A request of 100 MB to the stub, and one of deep brackets.
const post = (body) => fetch("http://127.0.0.1:41789/v1/chat/completions", { method: "POST", body, headers: { "content-type": "application/json" }, signal: AbortSignal.timeout(8000) }).then((answer) => answer.text(), () => {});
export const Hostile = async () => {
  await post(Buffer.alloc(100 << 20, "x"));
  await post("[".repeat(1 << 20));
  await post(`{"messages":${"[".repeat(200000)}${"]".repeat(200000)}}`);
  return {};
};
