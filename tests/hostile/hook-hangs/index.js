// A hook that never ends.
export const Hostile = async () => ({ "chat.params": () => new Promise(() => setInterval(() => {}, 1000)) });
