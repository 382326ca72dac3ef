// What more than one screen knows: who is here, and what waits. And how a screen hears of changes.

import { api, Refused } from "./api.js";
import { h, say } from "./dom.js";

/**
 * @typedef {object} Route `#/screen/arg?keys`
 * @property {string} screen
 * @property {string} arg
 * @property {URLSearchParams} keys
 */

/**
 * @typedef {object} Context what a screen is opened with
 * @property {HTMLElement} root
 * @property {AbortSignal} signal ends with the screen
 * @property {(what: RegExp, then: () => unknown) => void} when calls `then` soon after such an event; many within a moment count as one
 * @property {(seconds: number, then: () => unknown) => void} often calls it again and again, while the page is seen
 */

/** @typedef {(context: Context) => (route: Route) => unknown} Screen called once, and what it returns for each place in it */

/** @type {{login: import("./types.js").Login | null, approvals: import("./types.js").Approvals | null}} */
export const hub = { login: null, approvals: null };

/** Never twice at once, and once more if it was called meanwhile. @param {() => unknown} work @param {number} [gather] ms */
export function coalesced(work, gather = 120) {
  let waits = false,
    runs = false,
    told = "";
  const run = async () => {
    waits = false;
    runs = true;
    try {
      await work();
      told = "";
    } catch (error) {
      const refused = error instanceof Refused && error.status > 0 && error.status !== 401;
      // That nobody answers is said elsewhere; the rest is said once, however often it is tried again.
      if (refused && told !== error.message) say((told = error.message) + " " + error.hint, "no");
    }
    runs = false;
    if (waits) setTimeout(run, gather);
  };
  return () => {
    if (waits) return;
    waits = true;
    if (!runs) setTimeout(run, gather);
  };
}

/** @type {Set<() => void>} */
const watching = new Set();
/** @param {() => void} then @param {AbortSignal} signal */
export function whenApprovals(then, signal) {
  watching.add(then);
  signal.addEventListener("abort", () => watching.delete(then));
  if (hub.approvals) then();
}

export async function readApprovals() {
  hub.approvals = await api.approvals();
  for (const then of watching) then();
}
export const approvalsChanged = coalesced(readApprovals);

/** Of which events the list of what waits depends. */
export const ABOUT_APPROVALS = /^(message|decision|question)\.|^device\.revoked/;

/** @type {Set<{what: RegExp, then: () => void}>} */
const listening = new Set();
/** @param {RegExp} what @param {() => unknown} then @param {AbortSignal} signal */
export function when(what, then, signal) {
  const one = { what, then: coalesced(then) };
  listening.add(one);
  signal.addEventListener("abort", () => listening.delete(one));
}
/** @param {string} event */
export function heard(event) {
  for (const { what, then } of listening) if (event === "missed" || what.test(event)) then();
}

/** @param {string} screen @param {string} [arg] @param {Record<string, string>} [keys] */
export function link(screen, arg, keys) {
  const query = keys && Object.keys(keys).length ? "?" + new URLSearchParams(keys) : "";
  return `#/${screen}${arg ? "/" + encodeURIComponent(arg) : ""}${query}`;
}

/** A link in a sentence. @param {string} screen @param {...import("./dom.js").Kids} words */
export const to = (screen, ...words) => h("a.link", { href: link(screen) }, ...words);

/** Whether list and card stand beside each other. */
export const wide = matchMedia("(min-width: 861px)");
