// Kept pictures: PNGs of few colours, compared with some tolerance. What differs is put where one can look at it.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { PNG } from "pngjs";

const KEPT = new URL("pictures/", import.meta.url), SEEN = new URL("../../target/web-pictures/", import.meta.url);
/** How far a colour's channel may be off: what fewer colours, and another build of the font's library, may do. */
const COLOUR = 48;
/** The share of pixels that may be off more than that. */
const SHARE = 0.004;
/** Colours of a kept picture: letters on paper need few. */
const COLOURS = 32;

/** The picture in its most frequent colours, a byte a pixel. @param {PNG} picture */
function indexed({ width, height, data }) {
  const counts = new Map();
  const key = (at) => ((data[at] >> 3) << 10) | ((data[at + 1] >> 3) << 5) | (data[at + 2] >> 3);
  for (let at = 0; at < data.length; at += 4) counts.set(key(at), (counts.get(key(at)) ?? 0) + 1);
  const full = (value) => [value >> 10, (value >> 5) & 31, value & 31].map((part) => (part << 3) | (part >> 2));
  // A frequent colour counts once: neighbours of one that is taken are shades that nobody tells apart.
  const palette = [];
  const distance = (a, b) => Math.max(...a.map((part, at) => Math.abs(part - b[at])));
  for (const near of [20, 8]) {
    for (const [value] of [...counts].sort((a, b) => b[1] - a[1])) {
      if (palette.length >= (near === 20 ? COLOURS - 6 : COLOURS)) break;
      if (palette.every((known) => distance(known, full(value)) > near)) palette.push(full(value));
    }
  }
  const nearest = new Map([...counts.keys()].map((value) => [value, palette.reduce((best, known, at) => (distance(known, full(value)) < distance(palette[best], full(value)) ? at : best), 0)]));
  const pixels = Buffer.alloc((width + 1) * height);
  for (let y = 0, at = 0; y < height; y += 1) for (let x = 0; x < width; x += 1, at += 4) pixels[y * (width + 1) + 1 + x] = nearest.get(key(at));
  return { palette, pixels };
}

/** @param {PNG} picture */
function encode(picture) {
  const { palette, pixels } = indexed(picture), head = Buffer.alloc(13);
  head.writeUInt32BE(picture.width, 0);
  head.writeUInt32BE(picture.height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]), ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flat())), chunk("IDAT", deflateSync(pixels, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

export function compare(name, png) {
  const kept = new URL(`${name}.png`, KEPT), seen = new URL(`${name}.png`, SEEN), now = PNG.sync.read(png);
  const difference = existsSync(kept) ? differs(PNG.sync.read(readFileSync(kept)), now) : "is not there yet";
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(KEPT, { recursive: true });
    if (difference) writeFileSync(kept, encode(now));
    return;
  }
  if (!difference) return rmSync(seen, { force: true });
  mkdirSync(SEEN, { recursive: true });
  writeFileSync(seen, png);
  throw new Error(`the picture ${name} ${difference}: compare tests/web/pictures/${name}.png with target/web-pictures/${name}.png, and if the new one is right, run with --update-pictures`);
}

function differs(kept, now) {
  if (kept.width !== now.width || kept.height !== now.height) return `is ${now.width} × ${now.height}, and was ${kept.width} × ${kept.height}`;
  let pixels = 0;
  for (let at = 0; at < now.data.length; at += 4) {
    if (Math.abs(kept.data[at] - now.data[at]) > COLOUR || Math.abs(kept.data[at + 1] - now.data[at + 1]) > COLOUR || Math.abs(kept.data[at + 2] - now.data[at + 2]) > COLOUR) pixels += 1;
  }
  const share = pixels / (now.width * now.height);
  return share > SHARE ? `differs in ${(share * 100).toFixed(2)} % of its pixels` : null;
}
