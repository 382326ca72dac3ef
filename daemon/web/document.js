// The approval document, read from the bytes that are signed (`gatepost_link::document`, postcard). What the card shows and what
// the passkey signs come from the same bytes; the hub's word for what stands in them is not asked.
//
// postcard: integers are LEB128, texts and lists begin with their length, an option with 0 or 1; hashes are bare bytes.
// https://postcard.jamesmunns.com/wire-format

/** @typedef {{channel: string, account: string, address: string, known_as: string | null, thread: string | null}} Target */
/** @typedef {Target & {wires: string}} Also */
/**
 * @typedef {object} Document
 * @property {string} request hex
 * @property {string} audit_head hex
 * @property {string} agent
 * @property {string | null} origin
 * @property {string} action
 * @property {string} channel
 * @property {string} account
 * @property {string} address
 * @property {string | null} known_as
 * @property {string | null} thread
 * @property {string | null} reply_to
 * @property {string[]} options
 * @property {{text: string, wire: string, wire_alt: string | null}[]} parts
 * @property {{name: string, kind: string, size: number, digest: string}[]} attachments
 * @property {Also[]} also
 */

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
/** @param {string} text */
export const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
/** @param {string} text base64url */
export const unbase64 = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
/** @param {ArrayBuffer | Uint8Array} bytes */
export const base64 = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
/** @param {Uint8Array} bytes */
export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {BufferSource} */ (bytes)));

/** @param {Uint8Array} bytes @returns {Document} @throws {RangeError | TypeError} if it is none, or a text in it is not UTF-8 */
export function decode(bytes) {
  let at = 0;
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** @param {number} length */
  const take = (length) => {
    if (at + length > bytes.length) throw new RangeError("the document ends too early");
    return bytes.subarray(at, (at += length));
  };
  const number = () => {
    for (let value = 0, scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = /** @type {number} */ (take(1)[0]);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError("a number is too large");
  };
  const text = () => utf8.decode(take(number()));
  const digest = () => hex(take(32));
  /** @template T @param {() => T} read @returns {T | null} */
  const option = (read) => {
    const there = number();
    if (there > 1) throw new RangeError("an option is neither there nor not");
    return there ? read() : null;
  };
  /** @template T @param {() => T} read @returns {T[]} */
  const list = (read) => {
    const length = number();
    if (length > 64) throw new RangeError("a list is too long");
    return Array.from({ length }, read);
  };
  // The order is the format.
  const part = () => ({ text: text(), wire: digest(), wire_alt: option(digest) });
  const file = () => ({ name: text(), kind: text(), size: number(), digest: digest() });
  const target = () => ({ channel: text(), account: text(), address: text(), known_as: option(text), thread: option(text) });
  const document = {
    request: hex(take(16)),
    audit_head: digest(),
    agent: text(),
    origin: option(text),
    action: text(),
    ...target(),
    reply_to: option(text),
    options: list(text),
    parts: list(part),
    attachments: list(file),
    also: /** @type {Also[]} */ ([])
  };
  if (at < bytes.length) {
    document.also = list(() => ({ ...target(), wires: digest() }));
    if (document.also.length === 0) throw new RangeError("there are no further targets where some are announced");
  }
  if (at < bytes.length) throw new RangeError("something follows the document");
  return document;
}

const DOMAIN = "gatepost/decision/web/1";

/**
 * What a passkey signs the SHA-256 of.
 * @param {{hub: string, credential: Uint8Array, request: string, document: Uint8Array, verdict: "approve" | "deny", nonce: Uint8Array}} of `document` is its hash
 */
export async function statement({ hub, credential, request, document, verdict, nonce }) {
  const pieces = [
    new TextEncoder().encode(DOMAIN),
    unhex(hub),
    await sha256(credential),
    unhex(request),
    document,
    Uint8Array.of(verdict === "approve" ? 1 : 2),
    nonce
  ];
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  pieces.reduce((from, piece) => (all.set(piece, from), from + piece.length), 0);
  return all;
}
