// Times by the hub's clock. A deadline that a phone's wrong clock shows would be a lie.

import { h } from "./dom.js";

let ahead = 0;
/** Sets the hub's clock by an answer. @param {string} now @param {number} asked when it was asked for, here */
export function set(now, asked) {
  ahead = Date.parse(now) - (asked + Date.now()) / 2;
}
/** The hub's clock. */
export const now = () => Date.now() + ahead;

/** @type {Set<{node: Element, tick: () => void}>} */
const ticking = new Set();
setInterval(() => {
  for (const one of ticking) {
    if (one.node.isConnected) one.tick();
    else ticking.delete(one);
  }
}, 1000);

/** Calls it every second as long as the element is in the page. @template {Element} E @param {E} node @param {() => void} tick */
export function every(node, tick) {
  tick();
  // Elements are put into the page after they are made.
  setTimeout(() => ticking.add({ node, tick }), 0);
  return node;
}

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** @param {number} at */
const date = (at) => new Date(at).toDateString();

/** `10:41`, `yesterday 19:03`, `23 Nov`. @param {string} when */
export function clock(when) {
  const at = Date.parse(when);
  if (date(at) === date(now())) return time.format(at);
  if (date(at) === date(now() - 864e5)) return `yesterday ${time.format(at)}`;
  return Math.abs(now() - at) < 2e10
    ? `${day.format(at)}, ${time.format(at)}`
    : new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** @param {number} at */
function relative(at) {
  const s = (now() - at) / 1000,
    past = Math.abs(s);
  const words = past < 3600 ? `${Math.round(past / 60)} min` : `${Math.round(past / 3600)} h`;
  if (past < 45) return s >= 0 ? "just now" : "in a moment";
  if (past > 12 * 3600) return clock(new Date(at).toISOString());
  return s >= 0 ? `${words} ago` : `in ${words}`;
}

/** How long ago, or in how long; exactly on hover. @param {string} when */
export function ago(when) {
  const at = Date.parse(when),
    node = h("time", { datetime: when, title: exact.format(at) });
  // Nobody sees half a minute, and there may be ten thousand of them.
  let next = 0;
  return every(node, () => {
    if (Date.now() < next) return;
    next = Date.now() + 20_000;
    node.textContent = relative(at);
  });
}

/** A point of time; exactly on hover. @param {string} when */
export const at = (when) => h("time", { datetime: when, title: exact.format(Date.parse(when)) }, clock(when));

/** With its seconds. @param {number} when */
export const seconds = (when) => new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(when);

/** `4:12`, or `2 h`. @param {number} s */
export function minutes(s) {
  if (s >= 6000) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
}

/** Seconds until then, 0 if it is over. @param {string} when */
export const until = (when) => Math.max(0, (Date.parse(when) - now()) / 1000);

/** What is left, as a text that ticks. @param {string} deadline */
export function left(deadline) {
  const node = h("time", { datetime: deadline });
  return every(node, () => (node.textContent = until(deadline) > 0 ? minutes(until(deadline)) : "over"));
}
