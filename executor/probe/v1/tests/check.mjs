// Counts checks and ends the process with a verdict on the last line of stdout.
//
// Must stay free of dependencies: it runs inside the host's runtime.

let passed = 0;

const show = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value)));

const failed = (name, detail) => {
  console.log(`failed: ${name}: ${detail}`);
  process.exit(1);
};

export const equal = (name, actual, expected) => {
  if (show(actual) !== show(expected)) failed(name, `got ${show(actual)}, expected ${show(expected)}`);
  passed += 1;
};

export const ok = (name, value) => equal(name, Boolean(value), true);

export const thrown = (call) => {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
};

export const done = () => {
  console.log(`ok ${passed}`);
  process.exit(0);
};
