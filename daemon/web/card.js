// One request, whole: to whom, why it is held, the exact text, its files, what is signed, and where it is decided.
//
// All that a signature covers is read from the signed bytes. What the hub adds (the time, the rule, who is here) stands around it.

import { api, Refused } from "./api.js";
import * as clock from "./clock.js";
import { copyable, empty, facts, h, icon, redraw, svg, tag } from "./dom.js";
import { decode, hex, sha256, unbase64 } from "./document.js";
import { coalesced, link } from "./hub.js";
import { decision } from "./decide.js";
import { fileBox, head } from "./sheet.js";
import { channelName, count, grouped, inline, machine, num, words } from "./text.js";

/** @typedef {import("./types.js").Approval} Approval */
/** @typedef {import("./document.js").Document} Document */
/** @typedef {{request: string, bytes: Uint8Array, document: Document, hash: Uint8Array | null}} Signed */

/** The requests whose last part has been seen in this page. @type {Set<string>} */
const seen = new Set();

/** Reads what is signed, and makes sure that it is this request's. @param {Approval} approval @returns {Promise<Signed>} */
async function read({ request, document: base }) {
  const bytes = unbase64(base), document = decode(bytes);
  if (document.request !== request) throw new RangeError("the document is another request’s");
  return { request, bytes, document, hash: globalThis.crypto?.subtle ? await sha256(bytes) : null };
}

/** @param {HTMLElement} root @param {string} request */
export function approvalCard(root, request) {
  let looks = false, ended = false, drawn = "";
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
      redraw(root, refused.status === 404 ? empty("hand", "This request is not here", h("p", "It may have been purged, or the link is of another hub.")) :
        empty("alert", "This request cannot be shown", h("p", refused.message), h("p", "Do not decide on it. ", refused.status ? refused.hint : "Look at it on a companion.")));
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
    const { document } = signed, end = h("i.end", { "aria-hidden": "true" });
    watcher.disconnect();
    redraw(root, h("div.sheet", heading(approval, document), text(approval, document), files(approval, document), end, proof(approval, signed), foot.draw(approval, signed)));
    watcher.observe(end);
  }

  /** @param {Approval} approval @param {Document} document */
  function text(approval, document) {
    const isMessage = approval.kind === "message", shows = looks && isMessage, platform = channelName(document.channel);
    /** @param {boolean} on @param {string} label */
    const way = (on, label) => h("button", { type: "button", "aria-pressed": String(looks === on), "data-key": `way-${on}`, onclick: () => { looks = on; draw(); } }, label);
    const parts = document.parts.map((part, at) => {
      const about = approval.parts[at], several = document.parts.length > 1;
      return [
        at ? h("div.cut", `here ${platform} gets another message`) : null,
        several || about?.limit ? h("div.part-head", several ? h("h3", `Part ${at + 1} of ${document.parts.length}`) : h("i"), about?.limit ? h("span", `${num(about.units)} of ${count(about.limit, about.unit.replace(/s$/, ""))}`) : null) : null,
        shows && about ? h("div.words.looks", about.looks.map(({ text, style }) => h("span" + style.map((name) => ".as-" + name).join(""), ...words(text)))) : h("div.words", ...words(part.text)),
      ];
    });
    return h("section", { "aria-label": "The exact text" },
      h("div.text-head", h("h2", isMessage ? "The text" : "The question"), isMessage ? h("div.ways", { role: "group", "aria-label": "How it is shown" }, way(false, "As signed"), way(true, /^(The|E)/.test(platform) ? "As it arrives" : `As ${platform} shows it`)) : null),
      shows ? h("p.quiet", "This is not what is signed, but what becomes of it there.") : null, parts.flat());
  }

  load();
  const reload = coalesced(load);
  const often = setInterval(() => document.hidden || reload(), 10_000);
  return {
    request,
    /** @param {import("./types.js").ApprovalRow | undefined} row */
    changed(row) {
      if (!approval || JSON.stringify([row?.state, row?.by, row?.asks_at]) !== JSON.stringify([approval.state, approval.by, approval.asks_at])) reload();
    },
    end() {
      ended = true;
      clearInterval(often);
      watcher.disconnect();
      foot.end();
    },
  };
}

/** @param {Approval} approval */
function ring(approval) {
  const whole = (Date.parse(approval.deadline) - Date.parse(approval.asked_at)) / 1000;
  const rest = svg("circle", { class: "rest", cx: 30, cy: 30, r: 26, pathLength: 100 }), label = svg("text", { x: 30, y: 31 });
  const picture = svg("svg", { class: "ring", viewBox: "0 0 60 60", role: "img" }, svg("circle", { class: "all", cx: 30, cy: 30, r: 26 }), rest, label);
  return h("div.left", clock.every(picture, () => {
    const left = clock.until(approval.deadline), share = Math.max(0, Math.min(1, left / whole)) * 100;
    rest.setAttribute("stroke-dasharray", `${share.toFixed(1)} 100`);
    label.textContent = left ? clock.minutes(left) : "0:00";
    picture.setAttribute("aria-label", `${Math.floor(left / 60)} minutes ${Math.floor(left % 60)} seconds left`);
  }), "left");
}

/** @type {Record<string, string>} */
const VERBS = {
  send: "asks to send a message to", broadcast: "asks to send a message to", reply: "asks to answer in", edit: "asks to change a message in", delete: "asks to delete a message in", react: "asks to react to a message in",
  poll: "asks to put a poll to", ask: "asks you",
};

/** @param {Approval} approval @param {Document} document */
function heading(approval, document) {
  const open = approval.decided_at === null, question = approval.kind === "question";
  const where = (/** @type {import("./document.js").Target} */ of) => h("div.raw",
    h("span", `${channelName(of.channel)}, account `, machine(of.account)), h("span", "address ", machine(of.address)),
    of.thread ? h("span", "thread ", machine(of.thread)) : null, of.known_as ? tag("from your address book") : tag("not in your address book", "wait"));
  const name = (/** @type {import("./document.js").Target} */ of) => (of.known_as ? inline(of.known_as) : machine(of.address));
  return head({
    agent: document.agent, does: VERBS[document.action] ?? ["asks to ", inline(document.action), " at"], title: question ? "Yes or no?" : name(document),
    about: [question ? null : where(document), document.also.map((one) => h("div.also", h("b", "and ", name(one)), where(one))),
      h("div.raw", document.reply_to ? h("span", "answers message ", machine(document.reply_to)) : null, document.options.map((option) => tag(option)))],
    side: open && !approval.asks_at ? ring(approval) : null,
    why: h("div.why", icon(question ? "ask" : document.origin ? "cross" : "lock"), h("div",
      h("p", document.origin ? ["The turn came from ", approval.origin_name ? [h("b", inline(approval.origin_name)), " "] : null, machine(document.origin), ". "] : null, words(approval.why), open ? " No answer means no." : null),
      approval.toml ? h("details", { "data-key": "rule" }, h("summary", icon("chev", "chev"), "What would change this rule"), copyable(approval.toml)) : null)),
  });
}

/** @param {Approval} approval @param {Document} document */
const files = ({ files_kept }, { attachments }) => (attachments.length ? h("section", { "aria-label": "Files" }, attachments.map((file) => fileBox(file, files_kept, " · a companion cannot show it"))) : null);

/** @param {Approval} approval @param {Signed} signed */
function proof(approval, { document, hash }) {
  const print = hash ? hex(hash) : "";
  /** @type {[string, import("./dom.js").Kids][]} */
  const lines = [
    ["Document", print ? [h("mark", grouped(print, 16)), " " + grouped(print.slice(16))] : h("em", "this browser computes no hashes at this address")],
    ...document.parts.flatMap(({ wire, wire_alt }, at) => /** @type {[string, string][]} */ ([[`Part ${at + 1}, request`, grouped(wire)], ...(wire_alt ? [[`Part ${at + 1}, as plain text`, grouped(wire_alt)]] : [])])),
    ...document.also.map((one, at) => /** @type {[string, string]} */ ([`Target ${at + 2}, requests`, grouped(one.wires)])),
    ...document.attachments.map(({ digest }, at) => /** @type {[string, string]} */ ([document.attachments.length > 1 ? `File ${at + 1}` : "File", grouped(digest)])),
    ["Audit before it", [grouped(document.audit_head), " ", h("em", `row ${num(approval.audit_row)}`)]],
    ["Request", grouped(document.request)],
  ];
  return h("section", { "aria-label": "Proof" }, h("details", { "data-key": "proof" }, h("summary", icon("chev", "chev"), "What is signed", h("small", print ? "computed in this browser" : "")), facts(lines, "proof"),
    approval.message ? h("p.quiet", h("a.link", { href: link("messages", approval.message) }, "The message and its timeline")) : null));
}
