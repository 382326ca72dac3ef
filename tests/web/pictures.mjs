// Kept pictures: PNGs of few colours, compared with some tolerance. What differs is put where one can look at it.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { PNG } from "pngjs";

const KEPT = new URL("pictures/", import.meta.url),
  SEEN = new URL("../../target/web-pictures/", import.meta.url);
/** How far a colour's channel may be off: what fewer colours, and another build of the font's library, may do. */
const COLOUR = 48;
/** The share of pixels that may be off more than that. */
const SHARE = 0.0006;
/** Colours of a kept picture: letters on paper need few. */
const COLOURS = 48;

/** The picture in its most frequent colours, a byte a pixel. @param {PNG} picture */
function indexed({ width, height, data }) {
  const counts = new Map(),
    of = (value) => [value >> 16, (value >> 8) & 255, value & 255],
    key = (at) => (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
  for (let at = 0; at < data.length; at += 4) counts.set(key(at), (counts.get(key(at)) ?? 0) + 1);
  const distance = (a, b) => Math.max(Math.abs(a[0] - b[0]), Math.abs(a[1] - b[1]), Math.abs(a[2] - b[2]));
  // The large areas as they are; of the shades between them those that somebody could tell apart.
  const common = [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => of(value)),
    palette = common.slice(0, 8);
  for (const near of [24, 12])
    for (const colour of common)
      if (palette.length < COLOURS && palette.every((known) => distance(known, colour) > near)) palette.push(colour);
  const nearest = new Map(
    [...counts.keys()].map((value) => [
      value,
      palette.reduce((best, known, at) => (distance(known, of(value)) < distance(palette[best], of(value)) ? at : best), 0)
    ])
  );
  const pixels = Buffer.alloc((width + 1) * height);
  for (let y = 0, at = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1, at += 4) pixels[y * (width + 1) + 1 + x] = nearest.get(key(at));
  return { palette, pixels };
}

/** @param {PNG} picture */
function encode(picture) {
  const { palette, pixels } = indexed(picture),
    head = Buffer.alloc(13);
  head.writeUInt32BE(picture.width, 0);
  head.writeUInt32BE(picture.height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]),
      ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flat())),
    chunk("IDAT", deflateSync(pixels, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0))
  ]);
}

export function compare(name, png) {
  const kept = new URL(`${name}.png`, KEPT),
    seen = new URL(`${name}.png`, SEEN),
    now = PNG.sync.read(png);
  const difference = existsSync(kept) ? differs(PNG.sync.read(readFileSync(kept)), now) : "is not there yet";
  if (process.env.UPDATE_PICTURES) {
    mkdirSync(KEPT, { recursive: true });
    if (difference) writeFileSync(kept, encode(now));
    return;
  }
  if (!difference) return rmSync(seen, { force: true });
  mkdirSync(SEEN, { recursive: true });
  writeFileSync(seen, png);
  throw new Error(
    `the picture ${name} ${difference}: compare tests/web/pictures/${name}.png with target/web-pictures/${name}.png, and if the new one is right, run with --update-pictures`
  );
}

function differs(kept, now) {
  if (kept.width !== now.width || kept.height !== now.height)
    return `is ${now.width} × ${now.height}, and was ${kept.width} × ${kept.height}`;
  let pixels = 0;
  for (let at = 0; at < now.data.length; at += 4) {
    if (
      Math.abs(kept.data[at] - now.data[at]) > COLOUR ||
      Math.abs(kept.data[at + 1] - now.data[at + 1]) > COLOUR ||
      Math.abs(kept.data[at + 2] - now.data[at + 2]) > COLOUR
    )
      pixels += 1;
  }
  const share = pixels / (now.width * now.height);
  return share > SHARE ? `differs in ${(share * 100).toFixed(2)} % of its pixels` : null;
}
