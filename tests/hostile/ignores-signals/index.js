// Hears no signal, and keeps the host alive for ever.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGUSR1"]) process.on(signal, () => {});
process.exit = () => {};
process.reallyExit = () => {};
setInterval(() => {}, 1000);
export const Hostile = async () => ({});
