// The stand-in hub's noon, and how it writes times and hashes. Every time is relative to it, so that pictures repeat.

import { createHash } from "node:crypto";

export const NOON = Date.parse("2026-11-26T10:42:00.000Z");
export const MIN = 60_000;
export const HOUR = 60 * MIN;

/** @param {number} at */
export const iso = (at) => new Date(at).toISOString();
/** @param {string} text */
export const hash = (text) => createHash("sha256").update(text).digest("hex");
