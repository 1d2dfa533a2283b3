// Thousands of conversations with the stub before the host has its first.
const body = JSON.stringify({ model: "x", stream: false, messages: [{ role: "user", content: "hi" }], tools: [{ type: "function", function: { name: "x", parameters: {} } }] });
const ask = () => fetch("http://127.0.0.1:41789/v1/chat/completions", { method: "POST", body }).then((answer) => answer.text(), () => {});
export const Hostile = async () => {
  for (let round = 0; round < 50; round++) await Promise.all(Array.from({ length: 60 }, ask));
  return {};
};
