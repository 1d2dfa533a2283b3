// An import error of 10 MB.
throw new Error("E".repeat(10 << 20));
