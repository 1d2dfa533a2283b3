// Texts that steer a terminal, a browser, a table or an XML reader.
import fs from "node:fs";
export const Hostile = async () => {
  const poison = "\u001b[2J\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007 | `x` <script>alert(1)</script> <img src=x onerror=alert(1)> ]]> &bad; [link](javascript:alert(1)) \u0000 \ufffe \u202e\n# heading\n| a | b |\n```\n::error::pwned\n##vso[task.complete]";
  fs.writeFileSync(`${process.env.HOME}/<img src=x onerror=alert(1)>\u001b[2J`, "x");
  console.log(poison);
  console.error(poison);
  throw new Error(poison);
};
