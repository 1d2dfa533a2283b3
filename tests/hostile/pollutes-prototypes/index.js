// Every object gets fields that a careless reader takes for its own.
for (const [key, value] of Object.entries({ pass: true, verdict: "pass", error: undefined, ended: true, kind: "factory.end", exports: [], isAdmin: true })) {
  Object.defineProperty(Object.prototype, key, { get: () => value, set(own) { Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true }); }, configurable: true });
}
export const Hostile = async () => { throw new Error("really broken"); };
