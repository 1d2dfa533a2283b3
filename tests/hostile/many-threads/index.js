// Threads without end.
export const Hostile = async () => {
  for (let thread = 0; thread < 500; thread++) new Worker("data:text/javascript,setInterval(() => {}, 1000)");
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return {};
};
