// Takes JSON away from the host.
JSON.stringify = () => { throw new Error("no"); };
JSON.parse = () => { throw new Error("no"); };
export const Hostile = async () => ({});
