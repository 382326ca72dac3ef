// Texts from outside, shown so that they cannot lie: what is not seen, or turns text around, is spelled out as on a companion's
// screen. All of it ends in text nodes.

import { h } from "./dom.js";

/** Everything without a shape of its own, all spaces but the plain one, and marks that are heaped up. */
const ODD = /(?! )[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffd\u{e0100}-\u{e01ef}]|\p{M}{3,}/gu;
/** In an address only ASCII is shown as itself: a Cyrillic `а` must not look like a Latin one. */
const NOT_ASCII = /[^ -~]/gu;
const URL = /\bhttps?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}]/gu;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f0-9#*]$/u;

/** @param {number} code */
function name(code) {
  if (code === 0x200b || code === 0x2060 || code === 0xfeff) return "a space without width";
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x200e || code === 0x200f || code === 0x61c) return "turns the direction of text";
  if (code === 9) return "a tab";
  if (code < 32 || (code > 126 && code < 160)) return "a control character";
  return "a character that is not seen, or not as itself";
}

/** @param {string} char */
function chip(char) {
  const code = char.codePointAt(0) ?? 0;
  return h("span.esc", { title: name(code) }, "U+" + code.toString(16).toUpperCase().padStart(4, "0"));
}

/** Whether it only joins or colours a picture. @param {string} text @param {number} at @param {string} char */
function pictorial(text, at, char) {
  if (char !== "\ufe0f" && char !== "\u200d") return false;
  if (!PICTURE.test(text.slice(Math.max(0, at - 2), at))) return false;
  return char === "\ufe0f" || /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3));
}

/** @param {string} text @param {RegExp} odd @param {boolean} lines @returns {(Node | string)[]} */
function spelled(text, odd, lines) {
  /** @type {(Node | string)[]} */
  const out = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(odd)) {
    if ((found === "\n" && lines) || pictorial(text, index, found)) continue;
    out.push(text.slice(from, index));
    if (found === "\n") out.push(" ");
    else out.push(...[...found].map(chip));
    from = index + found.length;
  }
  out.push(text.slice(from));
  return out.filter((piece) => piece !== "");
}

/** A text of several lines, for an element with `white-space: pre-wrap`. Addresses of the web are marked, and are no links. @param {string} text */
export function words(text) {
  /** @type {(Node | string)[]} */
  const out = [];
  let from = 0;
  for (const { 0: url, index } of text.matchAll(URL)) {
    out.push(...spelled(text.slice(from, index), ODD, true), h("span.url", ...spelled(url, ODD, true)));
    from = index + url.length;
  }
  out.push(...spelled(text.slice(from), ODD, true));
  return out;
}

/** A name or a first line, apart from the direction of what is around it. @param {string} text */
export const inline = (text) => h("bdi", ...spelled(text, ODD, false));

/** An address or an id. @param {string} text */
export const machine = (text) => h("code", { dir: "ltr" }, ...spelled(text, NOT_ASCII, false));

/** Hex in groups of four. @param {string} hex @param {number} [most] in characters */
export const grouped = (hex, most = hex.length) => (hex.slice(0, most).match(/.{1,4}/g) ?? []).join(" ");

/** @param {number} value */
export const num = (value) => value.toLocaleString("en");
/** @param {number} count @param {string} one @param {string} [several] */
export const count = (count, one, several = one + "s") => `${num(count)} ${count === 1 ? one : several}`;

/** @param {number} bytes */
export function size(bytes) {
  for (const [unit, of] of /** @type {[string, number][]} */ ([["MB", 1e6], ["KB", 1e3]])) {
    if (bytes >= of) return `${(bytes / of).toLocaleString("en", { maximumFractionDigits: bytes < 10 * of ? 1 : 0 })} ${unit}`;
  }
  return `${bytes} bytes`;
}

const PROPER = new Map(Object.entries({ email: "E-mail", googlechat: "Google Chat", imessage: "iMessage", ntfy: "ntfy", whatsapp: "WhatsApp", local: "The local inbox" }));
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
