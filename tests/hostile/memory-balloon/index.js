// Takes memory until there is none.
export const Hostile = async () => {
  const held = [];
  for (let piece = 0; piece < 4000; piece++) held.push(Buffer.alloc(1 << 20, 1));
  return { held };
};
