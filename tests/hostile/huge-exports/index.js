// Megabytes of export names. setup.sh writes the module.
export * from "./names.js";
