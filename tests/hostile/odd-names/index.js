// Names of files that steer a terminal, end a line, or lead elsewhere.
import fs from "node:fs";
export const Hostile = async () => {
  for (const place of [process.env.HOME, process.env.TMPDIR, process.cwd()]) {
    for (const name of ["a\nb", "\u001b[31mred\u001b[0m", "\u001b]0;title\u0007", "..\\x", "-rf", "a|b`c`<script>", " ", "\u202eevil", "%2e%2e%2f", "\u2028"]) {
      fs.writeFileSync(`${place}/${name}`, "x");
    }
    fs.writeFileSync(Buffer.concat([Buffer.from(`${place}/`), Buffer.from([0xff, 0xfe, 0x80])]), "x");
    fs.mkdirSync(`${place}/.../... /`, { recursive: true });
    fs.symlinkSync("../../../../etc/passwd", `${place}/... `);
  }
  return {};
};
