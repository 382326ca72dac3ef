// One request, whole: to whom, why it is held, the exact text, its files, what is signed, and where it is decided.
//
// All that a signature covers is read from the signed bytes. What the hub adds (the time, the rule, who is here) stands around it.

import { api, Refused } from "./api.js";
import { empty, facts, h, icon, redraw } from "./dom.js";
import { decode, hex, sha256, unbase64 } from "./document.js";
import { coalesced, link } from "./hub.js";
import { decision } from "./decide.js";
import { heading } from "./heading.js";
import { fileBox } from "./sheet.js";
import { channelName, count, grouped, num, words } from "./text.js";

/** @typedef {import("./types.js").Approval} Approval */
/** @typedef {import("./document.js").Document} Document */
/** @typedef {{request: string, bytes: Uint8Array, document: Document, hash: Uint8Array | null}} Signed */

/** The requests whose last part has been seen in this page. @type {Set<string>} */
const seen = new Set();

/** Reads what is signed, and makes sure that it is this request's. @param {Approval} approval @returns {Promise<Signed>} */
async function read({ request, document: base }) {
  const bytes = unbase64(base),
    document = decode(bytes);
  if (document.request !== request) throw new RangeError("the document is another request’s");
  return { request, bytes, document, hash: globalThis.crypto?.subtle ? await sha256(bytes) : null };
}

/** @param {HTMLElement} root @param {string} request */
export function approvalCard(root, request) {
  let looks = false,
    ended = false,
    drawn = "";
  /** @type {Approval | null} */
  let approval = null;
  /** @type {Signed | null} */
  let signed = null;
  const foot = decision(request, () => seen.has(request));
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.add(request);
    foot.armed();
  });

  async function load() {
    try {
      approval = await api.approval(request);
      signed ??= await read(approval);
    } catch (error) {
      if (ended) return;
      const refused = /** @type {Refused} */ (error);
      if (refused.status === 0 && approval) return;
      redraw(
        root,
        refused.status === 404
          ? empty("hand", "This request is not here", h("p", "It may have been purged, or the link is of another hub."))
          : empty(
              "alert",
              "This request cannot be shown",
              h("p", refused.message),
              h("p", "Do not decide on it. ", refused.status ? refused.hint : "Look at it on a companion.")
            )
      );
      return;
    }
    // A finger may be on a button: what has not changed is left alone.
    const now = JSON.stringify(approval);
    if (ended || now === drawn || foot.held()) return;
    drawn = now;
    draw();
  }

  function draw() {
    if (!approval || !signed) return;
    const { document } = signed,
      end = h("i.end", { "aria-hidden": "true" });
    watcher.disconnect();
    redraw(
      root,
      h(
        "div.sheet",
        heading(approval, document),
        text(approval, document),
        files(approval, document),
        end,
        proof(approval, signed),
        foot.draw(approval, signed)
      )
    );
    watcher.observe(end);
  }

  /** @param {Approval} approval @param {Document} document */
  function text(approval, document) {
    const isMessage = approval.kind === "message",
      shows = looks && isMessage,
      platform = channelName(document.channel);
    /** @param {boolean} on @param {string} label */
    const way = (on, label) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(looks === on),
          "data-key": `way-${on}`,
          onclick: () => {
            looks = on;
            draw();
          }
        },
        label
      );
    const parts = document.parts.map((part, at) => {
      const about = approval.parts[at],
        several = document.parts.length > 1;
      return [
        at ? h("div.cut", `here ${platform} gets another message`) : null,
        several || about?.limit
          ? h(
              "div.part-head",
              several ? h("h3", `Part ${at + 1} of ${document.parts.length}`) : h("i"),
              about?.limit ? h("span", `${num(about.units)} of ${count(about.limit, about.unit.replace(/s$/, ""))}`) : null
            )
          : null,
        shows && about
          ? h(
              "div.words.looks",
              about.looks.map(({ text, style }) => h("span" + style.map((name) => ".as-" + name).join(""), ...words(text)))
            )
          : h("div.words", ...words(part.text))
      ];
    });
    return h(
      "section",
      { "aria-label": "The exact text" },
      h(
        "div.text-head",
        h("h2", isMessage ? "The text" : "The question"),
        isMessage
          ? h(
              "div.ways",
              { role: "group", "aria-label": "How it is shown" },
              way(false, "As signed"),
              way(true, /^(The|E)/.test(platform) ? "As it arrives" : `As ${platform} shows it`)
            )
          : null
      ),
      shows ? h("p.quiet", "This is not what is signed, but what becomes of it there.") : null,
      parts.flat()
    );
  }

  load();
  const reload = coalesced(load);
  const often = setInterval(() => document.hidden || reload(), 10_000);
  return {
    request,
    /** @param {import("./types.js").ApprovalRow | undefined} row */
    changed(row) {
      if (
        !approval ||
        JSON.stringify([row?.state, row?.by, row?.asks_at]) !== JSON.stringify([approval.state, approval.by, approval.asks_at])
      )
        reload();
    },
    end() {
      ended = true;
      clearInterval(often);
      watcher.disconnect();
      foot.end();
    }
  };
}

/** @param {Approval} approval @param {Document} document */
const files = ({ files_kept }, { attachments }) =>
  attachments.length
    ? h(
        "section",
        { "aria-label": "Files" },
        attachments.map((file) => fileBox(file, files_kept, " · a companion cannot show it"))
      )
    : null;

/** @param {Approval} approval @param {Signed} signed */
function proof(approval, { document, hash }) {
  const print = hash ? hex(hash) : "";
  /** @type {[string, import("./dom.js").Kids][]} */
  const lines = [
    [
      "Document",
      print ? [h("mark", grouped(print, 16)), " " + grouped(print.slice(16))] : h("em", "this browser computes no hashes at this address")
    ],
    ...document.parts.flatMap(
      ({ wire, wire_alt }, at) =>
        /** @type {[string, string][]} */ ([
          [`Part ${at + 1}, request`, grouped(wire)],
          ...(wire_alt ? [[`Part ${at + 1}, as plain text`, grouped(wire_alt)]] : [])
        ])
    ),
    ...document.also.map((one, at) => /** @type {[string, string]} */ ([`Target ${at + 2}, requests`, grouped(one.wires)])),
    ...document.attachments.map(
      ({ digest }, at) => /** @type {[string, string]} */ ([document.attachments.length > 1 ? `File ${at + 1}` : "File", grouped(digest)])
    ),
    ["Audit before it", [grouped(document.audit_head), " ", approval.audit_row === null ? null : h("em", `row ${num(approval.audit_row)}`)]],
    ["Request", grouped(document.request)]
  ];
  return h(
    "section",
    { "aria-label": "Proof" },
    h(
      "details",
      { "data-key": "proof" },
      h("summary", icon("chev", "chev"), "What is signed", h("small", print ? "computed in this browser" : "")),
      facts(lines, "proof"),
      approval.message ? h("p.quiet", h("a.link", { href: link("messages", approval.message) }, "The message and its timeline")) : null
    )
  );
}
