// Stand-ins for objects and functions of a plugin: same names, same prototype, same identity rules,
// with single properties replaced. The originals are never changed.
//
// Must not call what it stands in for, and must not settle or delay a promise.

const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, has } = Reflect;
const reflectGet = Reflect.get;
const reflectSet = Reflect.set;
const promiseThen = Promise.prototype.then;

/** original -> role -> stand-in; one original may be a hook under two names. */
const standIns = new WeakMap();
/** stand-in -> original */
const originals = new WeakMap();

const once = (original, role, make) => {
  if (originals.has(original)) return original;
  const roles = standIns.get(original) ?? new Map();
  standIns.set(original, roles);
  if (!roles.has(role)) {
    const made = make();
    roles.set(role, made);
    originals.set(made, original);
  }
  return roles.get(role);
};

export const isObject = (value) => value !== null && typeof value === "object";

/** What a method called on `self` must see as `this`. */
export const originalOf = (self) => (isObject(self) ? (originals.get(self) ?? self) : self);

/**
 * `fn` with `call(target, self, args)` in place of a plain call, one for each role. A Proxy keeps
 * name, length, prototype, own properties and the error of a class that is called without `new`.
 */
export const wrapFunction = (fn, role, call) =>
  once(fn, role, () => new Proxy(fn, { apply: (target, self, args) => call(target, self, args) }));

/** A property that a Proxy may not report differently from what it is. */
const isPinned = (object, key) => {
  const own = getOwnPropertyDescriptor(object, key);
  return own !== undefined && !own.configurable && !own.writable;
};

/**
 * A live view of `object` in which `replace(key, value)` decides what a property reads as; what the
 * plugin adds later stays visible. An object with fixed properties is copied instead.
 */
export const overlay = (object, role, replace) =>
  once(object, role, () => {
    if (ownKeys(object).some((key) => isPinned(object, key))) return copyWith(object, replace);
    return new Proxy(object, {
      get: (target, key) => (isPinned(target, key) ? target[key] : replace(key, reflectGet(target, key, target))),
      set: (target, key, value) => reflectSet(target, key, value, target),
    });
  });

/**
 * A copy of `object` with the same prototype and property descriptors, in which `replace(key, value)`
 * decides each value; keys of `inherited` are taken over although the prototype holds them.
 * Accessors read from the original, so that private state works.
 */
export const copyWith = (object, replace, inherited = []) => {
  const copy = Object.create(getPrototypeOf(object));
  const keys = new Set([...ownKeys(object), ...inherited.filter((key) => has(object, key))]);
  for (const key of keys) Object.defineProperty(copy, key, copiedProperty(object, key, replace));
  originals.set(copy, object);
  return copy;
};

const copiedProperty = (object, key, replace) => {
  const own = getOwnPropertyDescriptor(object, key);
  if (own && "value" in own) return { ...own, value: replace(key, own.value) };
  return {
    configurable: own?.configurable ?? true,
    enumerable: own?.enumerable ?? false,
    get: () => replace(key, reflectGet(object, key, object)),
    set: (value) => {
      object[key] = value;
    },
  };
};

/**
 * Calls `fn`; `returned(value)` gives what the caller receives, `threw(error)` only looks. A promise
 * is answered by one derived from it, never by itself with a silent handler beside it: a rejection
 * that nobody handles must stay unhandled. A thenable that is no promise is left alone, because
 * asking it may start it.
 */
export const callAndReport = (fn, self, args, { returned, threw }) => {
  let result;
  try {
    result = apply(fn, originalOf(self), args);
  } catch (error) {
    threw(error);
    throw error;
  }
  if (!(result instanceof Promise)) return returned(result);
  return apply(promiseThen, result, [
    returned,
    (error) => {
      threw(error);
      throw error;
    },
  ]);
};
