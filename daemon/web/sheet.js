// What cards have in common: who, to whom, and where.

import { h, tag } from "./dom.js";
import { fileUrl } from "./api.js";
import { channelName, grouped, inline, machine, parted, size } from "./text.js";
import * as clock from "./clock.js";

/** An agent's letter, for the eye alone. @param {string} name */
export const face = (name) => h("span.face", { "aria-hidden": "true" }, (name[0] ?? "?").toUpperCase());

/**
 * The head of a card.
 * @param {{agent: string, does: import("./dom.js").Kids, title: import("./dom.js").Kids, about?: import("./dom.js").Kids, side?: import("./dom.js").Kids, why?: import("./dom.js").Kids}} of
 */
export const head = ({ agent, does, title, about, side, why }) =>
  h("header.asks", h("div", h("div.line", face(agent), h("b", inline(agent)), does), h("h1.target", title), about), side, why);

/** What is so with it, and since when. @param {HTMLElement} state @param {string} at */
export const stand = (state, at) => h("div.stand", state, h("small", clock.ago(at)));

/** A target in words. @param {string} target `channel:address` */
export const where = (target) => h("span", channelName(parted(target).channel), " ", machine(parted(target).address));

/** @param {{name: string, kind: string, size: number, digest: string}} file @param {boolean} kept @param {string} [note] */
export const fileBox = ({ name, kind, size: bytes, digest }, kept, note = "") =>
  h(
    "div.file",
    h(
      "div.kind",
      { "aria-hidden": "true" },
      (kind.split("/")[1] ?? "")
        .replace(/^(x-|vnd\.).*/, "file")
        .slice(0, 4)
        .toUpperCase() || "FILE"
    ),
    h("b", inline(name)),
    h("small", inline(kind), " by its content · ", size(bytes), " · ", h("span.mono", grouped(digest, 16)), note),
    kept ? h("a.btn.small.open", { href: fileUrl(digest), target: "_blank", rel: "noopener" }, "Open") : null
  );

/** What was said, oldest first. @param {{who: string, at: string, kind: string, text: import("./dom.js").Kids, mine?: boolean, more?: import("./dom.js").Kids}[]} lines */
export const talk = (lines) =>
  h(
    "ol.said-lines",
    lines.map((one) =>
      h(
        `li${one.mine ? ".mine" : ""}`,
        h("div.by", h("b", inline(one.who)), " ", clock.at(one.at), one.kind === "message" ? null : [" ", tag(one.kind)]),
        h("div.words", one.text),
        one.more
      )
    )
  );

/** How far it is. @param {string} label @param {number} [share] 0 to 1; without it, nobody knows */
export const progress = (label, share) => h("progress", { "aria-label": label, value: share });
