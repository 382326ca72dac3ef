// What the hub does not do, and what it does not have.

export class Refusal extends Error {
  constructor(status, code, error, hint = "", reason) {
    super(error);
    Object.assign(this, { status, code, hint, reason });
  }
}

/** @template T @param {T | undefined} found @returns {T} */
export function need(found) {
  if (!found) throw new Refusal(404, "not_found", "there is no such thing", "it may have been purged");
  return found;
}

export function remove(list, which) {
  const at = list.findIndex(which);
  need(at >= 0);
  list.splice(at, 1);
  return {};
}
