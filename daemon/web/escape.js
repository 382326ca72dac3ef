// Texts, shown so that they cannot lie: what is not seen, or turns text around, is spelled out as on a companion's screen. Every
// string that becomes a part of the page goes through here (`nodes` in dom.js), whoever wrote it.

/** Everything without a shape of its own, all spaces but the plain one, and marks that are heaped up. */
const ODD =
  /(?! )[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffd\u{e0100}-\u{e01ef}]|\p{M}{3,}/gu;
/** In an address only ASCII is shown as itself: a Cyrillic `а` must not look like a Latin one. */
export const NOT_ASCII = /[^ -~]/gu;
const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f0-9#*]$/u;

/** @param {number} code */
function name(code) {
  if (code === 0x200b || code === 0x2060 || code === 0xfeff) return "a space without width";
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code === 0x200e || code === 0x200f || code === 0x61c)
    return "turns the direction of text";
  return code === 9 ? "a tab" : "a character that is not seen, or not as itself";
}

/** @param {string} char */
function chip(char) {
  const code = char.codePointAt(0) ?? 0;
  const node = document.createElement("span");
  node.className = "esc";
  node.title = name(code);
  node.textContent = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
  return node;
}

/** Whether it only joins or colours a picture. @param {string} text @param {number} at @param {string} char */
function pictorial(text, at, char) {
  if (char !== "\ufe0f" && char !== "\u200d") return false;
  if (!PICTURE.test(text.slice(Math.max(0, at - 2), at))) return false;
  return char === "\ufe0f" || /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3));
}

/** @param {string} text @param {RegExp} [odd] what is spelled out; in an address, all but ASCII @returns {(Node | string)[]} */
export function spelled(text, odd = ODD) {
  /** @type {(Node | string)[]} */
  const out = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(odd)) {
    if (found === "\n" || pictorial(text, index, found)) continue;
    out.push(text.slice(from, index), ...[...found].map(chip));
    from = index + found.length;
  }
  out.push(text.slice(from));
  return out.filter((piece) => piece !== "");
}
