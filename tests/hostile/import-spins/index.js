// Never gives the processor back while it is imported.
for (;;);
export const Hostile = async () => ({});
