// The host's events never come out.
process.stdout.write = (_, encoding, done) => { (typeof encoding === "function" ? encoding : done)?.(); return true; };
export const Hostile = async () => ({});
