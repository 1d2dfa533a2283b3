// Takes every connection that the stub accepts and says nothing on any.
import net from "node:net";
export const Hostile = async () => {
  for (let connection = 0; connection < 600; connection++) net.connect(41789, "127.0.0.1").on("error", () => {}).unref();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return {};
};
