// A default export with a million keys.
const keys = Object.fromEntries(Array.from({ length: 300000 }, (_, index) => [`key-${index}-${"x".repeat(20)}`, 1]));
export default { ...keys, id: "hostile.huge-object", server: async () => ({}) };
