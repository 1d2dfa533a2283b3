// Notes what the process does to itself and to the network: exits, connections, listeners.
//
// Every replacement passes the call on unchanged (same `this`, same result, same error) and is a Proxy
// of the original, so that its name, length and properties stay.

import dgram from "node:dgram";
import http from "node:http";
import net from "node:net";
import tls from "node:tls";

const { apply, construct } = Reflect;
const BUNDLE = "/opt/ocsweep/bundle/";
const HOST_FRAME = "/$bunfs/";
/** The stub model: the host talks to it all the time. */
const STUB_PORT = 41789;
const STACK_FRAMES = 30;

/** The stack here, without letting a plugin's own formatter see that it was asked for. */
const stackHere = () => {
  const { stackTraceLimit, prepareStackTrace } = Error;
  try {
    Error.prepareStackTrace = undefined;
    Error.stackTraceLimit = STACK_FRAMES;
    return String(new Error("here").stack).split("\n").slice(1).filter((line) => !line.includes("/observer-globals.mjs")).join("\n");
  } catch {
    return "";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    if (prepareStackTrace === undefined) delete Error.prepareStackTrace;
    else Error.prepareStackTrace = prepareStackTrace;
  }
};

const originOf = (stack) => {
  if (stack.includes(BUNDLE)) return "plugin";
  return stack.includes(HOST_FRAME) ? "host" : "unknown";
};

/** Replaces `owner[name]` by a stand-in that lets `note` see the arguments first. */
const watch = (owner, name, note) => {
  const original = owner?.[name];
  if (typeof original !== "function") return;
  const look = (args, self) => {
    try {
      note(args, self);
    } catch {
      // an argument that cannot be read is the original's business
    }
  };
  const standIn = new Proxy(original, {
    apply: (target, self, args) => {
      look(args, self);
      return apply(target, self, args);
    },
    construct: (target, args, newTarget) => {
      look(args);
      return construct(target, args, newTarget === standIn ? target : newTarget);
    },
  });
  const own = Object.getOwnPropertyDescriptor(owner, name);
  try {
    if (own?.configurable === false) owner[name] = standIn;
    else Object.defineProperty(owner, name, { enumerable: true, ...own, configurable: true, writable: true, value: standIn });
  } catch {
    // a fixed property stays unobserved
  }
};

const LOOPBACK = /^(?:localhost|.*\.localhost|127\.\d+\.\d+\.\d+|::1|\[::1\]|::ffff:127\..*)$/i;

export const observeProcess = ({ record, during, announceRunning }) => {
  observeExit(record, during, announceRunning);
  const seen = new Set();
  const connected = (api, target) => {
    if (target === undefined || target.host === undefined) return;
    const host = String(target.host);
    const port = Number(target.port) || 0;
    const origin = originOf(stackHere());
    const loopback = LOOPBACK.test(host);
    if (loopback && port === STUB_PORT && origin !== "plugin") return;
    const key = `${api} ${host} ${port} ${origin}`;
    if (seen.has(key)) return;
    seen.add(key);
    record("net", { api, host, port, loopback, origin });
  };
  const ports = new Set();
  const listened = (api, target) => {
    const port = Number(target?.port);
    if (!(port > 0) || ports.has(port)) return;
    ports.add(port);
    record("listen", { api, host: String(target.host ?? "0.0.0.0"), port, origin: originOf(stackHere()) });
  };
  observeConnections(connected);
  observeListeners(listened);
};

/** Events whose listener may end the process long after the plugin's code left the stack. */
const LAST_RESORT = new Set(["uncaughtException", "unhandledRejection"]);

const observeExit = (record, during, announceRunning) => {
  const listeners = new Set();
  let isNoted = false;
  const note = (api, code) => {
    if (isNoted && api === "process.reallyExit") return;
    isNoted = api === "process.exit";
    announceRunning();
    const stack = stackHere();
    const origin = originOf(stack);
    record("exit", { code, api, stack, origin, during: during(origin !== "host"), listeners: [...listeners] });
  };
  for (const name of ["on", "once", "addListener", "prependListener"]) {
    watch(process, name, ([event]) => {
      if (LAST_RESORT.has(event) && originOf(stackHere()) !== "host") listeners.add(event);
    });
  }
  watch(process, "exit", ([code]) => note("process.exit", code ?? process.exitCode ?? 0));
  watch(process, "reallyExit", ([code]) => note("process.reallyExit", code ?? 0));
  watch(process, "abort", () => note("process.abort", undefined));
  watch(process, "kill", ([pid, signal]) => {
    const isSelf = pid === process.pid || pid === 0 || pid === -process.pid;
    if (isSelf && signal !== 0) note("process.kill", signal ?? "SIGTERM");
  });
};

const fromUrl = (value) => {
  const text = typeof value === "string" || value instanceof URL ? String(value) : value?.url;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!/^(?:https?|wss?):$/.test(url.protocol)) return undefined;
  const isTls = url.protocol === "https:" || url.protocol === "wss:";
  return { host: url.hostname, port: url.port || (isTls ? 443 : 80) };
};

/** The target of `connect(port, host)`, `connect({port, host})` and the array form of node's internals. */
const fromConnectArgs = (args) => {
  const [first, second] = Array.isArray(args[0]) ? args[0] : args;
  if (first !== null && typeof first === "object") {
    return first.path || first.unix ? undefined : { host: first.host ?? first.hostname ?? "localhost", port: first.port };
  }
  if (typeof first === "string" && !/^\d+$/.test(first)) return undefined;
  return { host: typeof second === "string" ? second : "localhost", port: first };
};

const observeConnections = (connected) => {
  watch(globalThis, "fetch", ([input, init]) => connected("fetch", init?.unix ? undefined : fromUrl(input)));
  watch(globalThis, "WebSocket", ([url]) => connected("WebSocket", fromUrl(url)));
  watch(globalThis, "EventSource", ([url]) => connected("EventSource", fromUrl(url)));
  watch(globalThis.Bun, "fetch", ([input, init]) => connected("Bun.fetch", init?.unix ? undefined : fromUrl(input)));
  watch(globalThis.Bun, "connect", (args) => connected("Bun.connect", fromConnectArgs(args)));
  watch(net.Socket.prototype, "connect", (args, self) =>
    connected(self instanceof tls.TLSSocket ? "tls" : "net", fromConnectArgs(args)),
  );
  watch(dgram.Socket.prototype, "connect", ([port, host]) => connected("dgram", { host: host ?? "localhost", port }));
  watch(dgram.Socket.prototype, "send", (args) => connected("dgram", fromSendArgs(args)));
  // The functions of node:http are fixed for whoever imports them by name; every request ends here.
  watch(http.OutgoingMessage.prototype, "end", (_args, self) => {
    if (!(self instanceof http.ClientRequest) || self.socketPath) return;
    const isTls = self.protocol === "https:";
    connected(isTls ? "https" : "http", { host: self.host, port: self.port ?? (isTls ? 443 : 80) });
  });
};

/** `send(msg, port, host)` or `send(msg, offset, length, port, host)`; a connected socket names no host. */
const fromSendArgs = (args) => {
  const at = args.findIndex((arg, i) => i > 0 && typeof arg === "string");
  return at < 0 ? undefined : { host: args[at], port: args[at - 1] };
};

const observeListeners = (listened) => {
  const fromListen = (args) => {
    const [first, second] = args;
    if (first !== null && typeof first === "object") return { host: first.host ?? first.hostname, port: first.port };
    return { host: typeof second === "string" ? second : undefined, port: first };
  };
  watch(net.Server.prototype, "listen", (args) => listened("net", fromListen(args)));
  watch(http.Server.prototype, "listen", (args) => listened("http", fromListen(args)));
  watch(dgram.Socket.prototype, "bind", (args) => listened("dgram", fromListen(args)));
  watch(globalThis.Bun, "listen", (args) => listened("Bun.listen", fromListen(args)));
  watch(globalThis.Bun, "serve", (args) => listened("Bun.serve", fromListen(args)));
};
