// Stops the host, which then neither ends nor says anything.
export const Hostile = async () => { process.kill(process.pid, "SIGSTOP"); return {}; };
