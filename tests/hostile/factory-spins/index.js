// Never gives the processor back in its factory.
export const Hostile = async () => { for (;;); };
