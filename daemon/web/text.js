// How texts, names, addresses and numbers are written.

import { h } from "./dom.js";
import { NOT_ASCII, spelled } from "./escape.js";

const URL = /\bhttps?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/gu;

/** A text of several lines, for an element with `white-space: pre-wrap`. Addresses of the web are marked, and are no links. @param {string} text */
export function words(text) {
  /** @type {(Node | string)[]} */
  const out = [];
  let from = 0;
  for (const { 0: url, index } of text.matchAll(URL)) {
    out.push(text.slice(from, index), h("span.url", url));
    from = index + url.length;
  }
  out.push(text.slice(from));
  return out;
}

/** A name or a first line, apart from the direction of what is around it. @param {string} text */
export const inline = (text) => h("bdi", text.replace(/\n/g, " "));

/** An address or an id. @param {string} text */
export const machine = (text) => h("code", { dir: "ltr" }, ...spelled(text.replace(/\n/g, "\u2028"), NOT_ASCII));

/** Hex in groups of four. @param {string} hex @param {number} [most] in characters */
export const grouped = (hex, most = hex.length) => (hex.slice(0, most).match(/.{1,4}/g) ?? []).join(" ");

/** @param {number} value */
export const num = (value) => value.toLocaleString("en");
/** @param {number} count @param {string} one @param {string} [several] */
export const count = (count, one, several = one + "s") => `${num(count)} ${count === 1 ? one : several}`;

/** @param {number} bytes */
export function size(bytes) {
  for (const [unit, of] of /** @type {[string, number][]} */ ([
    ["MB", 1e6],
    ["KB", 1e3]
  ])) {
    if (bytes >= of) return `${(bytes / of).toLocaleString("en", { maximumFractionDigits: bytes < 10 * of ? 1 : 0 })} ${unit}`;
  }
  return `${bytes} bytes`;
}

const PROPER = new Map(
  Object.entries({
    email: "E-mail",
    googlechat: "Google Chat",
    imessage: "iMessage",
    ntfy: "ntfy",
    whatsapp: "WhatsApp",
    local: "The local inbox"
  })
);
/** What people call a channel. @param {string} channel */
export const channelName = (channel) => PROPER.get(channel) ?? channel.charAt(0).toUpperCase() + channel.slice(1);

/** A target in its pieces. @param {string} target `channel:address[#thread]` */
export function parted(target) {
  const at = target.indexOf(":");
  return at < 0 ? { channel: "", address: target } : { channel: target.slice(0, at), address: target.slice(at + 1) };
}

/** Where something goes: the address book's name, or else the address. @param {{to: string, known_as?: string | null, targets?: number}} of */
export function place({ to, known_as, targets = 1 }) {
  const more = targets > 1 ? ` and ${targets - 1} more` : "";
  return h("span.place", known_as ? inline(known_as) : machine(parted(to).address || to), more);
}

/** Which channel goes with a target, in a word. @param {string} target */
export const channelOf = (target) => channelName(parted(target).channel);

/** `ESP32-C3`. @param {string} board */
export const boardName = (board) => board.toUpperCase().replace("ESP32", "ESP32-");
