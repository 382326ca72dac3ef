// One message: what was written and what is sent, part by part, and everything that happened to it.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { ask, button, empty, facts, h, icon, redraw, tag, tried } from "./dom.js";
import { link } from "./hub.js";
import { eventWords, outcome, partOutcome } from "./state.js";
import { channelOf, grouped, inline, machine, parted, size, words } from "./text.js";

/** @typedef {import("./types.js").Whole} Whole */
/** @typedef {import("./types.js").AuditRow} AuditRow */

const OVER = ["sent", "failed", "denied", "expired", "cancelled", "unknown"];

/** @param {HTMLElement} root @param {string} id @param {(whole: Whole) => void} changed */
export function messageCard(root, id, changed) {
  let ended = false, drawn = "";
  async function load() {
    /** @type {Whole} */
    let whole;
    /** @type {AuditRow[]} */
    let rows = [];
    try {
      [whole, { rows }] = await Promise.all([api.message(id), api.audit({ message: id, limit: 200 })]);
    } catch (error) {
      const refused = /** @type {api.Refused} */ (error);
      if (!ended && (refused.status || !drawn)) redraw(root, empty("mail", refused.status === 404 ? "This message is not here" : refused.message, h("p", null, refused.status === 404 ? "It was purged, or its retention is over." : refused.hint)));
      return;
    }
    const now = JSON.stringify([whole, rows]);
    if (ended || now === drawn) return;
    drawn = now;
    redraw(root, draw(whole, rows.reverse()));
    changed(whole);
  }
  load();
  return { id, reload: load, end: () => (ended = true) };

  /** @param {Whole} whole @param {AuditRow[]} rows */
  function draw(whole, rows) {
    return h("div.sheet", null, heading(whole), text(whole),
      whole.attachments?.length ? h("section", { "aria-label": "Files" }, whole.attachments.map((file) => h("div.file", null, h("div.kind", { "aria-hidden": "true" }, icon("file")), h("b", null, inline(file.name)),
        h("small", null, inline(file.kind), " · ", size(file.size), " · ", h("span.mono", null, grouped(file.sha256, 16))), h("a.btn.small.open", { href: api.fileUrl(file.sha256), target: "_blank", rel: "noopener" }, "Open")))) : null,
      h("section", null, h("h2", null, "What happened"), timeline(rows)),
      h("section", null, h("details", { "data-key": "more" }, h("summary", null, icon("chev", "chev"), "More about it"), more(whole))),
      actions(whole));
  }

  /** @param {Whole} whole */
  function actions(whole) {
    const { state } = whole, again = () => load();
    /** @param {string} label @param {() => Promise<unknown>} work @param {string} [kind] */
    const act = (label, work, kind = "") => button(label, () => work().then(again), { kind, "data-key": label });
    const buttons = [
      state === "held" && whole.request ? h("a.btn.go", { href: link("waiting", whole.request) }, icon("hand"), "Look at the card") : null,
      ["accepted", "held", "ready"].includes(state) ? act("Take it back", async () => (await ask({ title: "Take this message back?", text: h("p", null, "It is not sent, and its agent is told."), yes: "Take it back" })) && tried(api.cancelMessage(id), "Taken back"), "stop") : null,
      state === "failed" ? act("Send again", () => tried(api.retryMessage(id, false), "It is sent again"), "go") : null,
      state === "unknown" ? act("It arrived", () => settle(true)) : null,
      state === "unknown" ? act("It did not arrive", () => settle(false)) : null,
      state === "unknown" ? act("Send again, perhaps twice", async () => (await ask({ title: "Send it again?", text: h("p", null, "Nobody knows whether it arrived. If it did, it arrives a second time. Ask the other side first if you can."), yes: "Send it again", typed: "twice" })) && tried(api.retryMessage(id, true), "It is sent again"), "stop") : null,
      OVER.includes(state) ? act("Remove", async () => (await ask({ title: "Remove this message?", text: h("p", null, "Its text and its receipt are deleted. The audit keeps that it was there."), yes: "Remove it" })) && tried(api.purgeMessage(id), "Removed"), "stop") : null,
    ].filter(Boolean);
    return buttons.length ? h("div.acts", null, buttons) : null;
  }

  /** @param {boolean} arrived */
  async function settle(arrived) {
    const reason = /** @type {HTMLInputElement} */ (h("input", { id: "reason", maxlength: 500, placeholder: arrived ? "Ann has seen it" : "Ann has not got it" }));
    const yes = await ask({ title: arrived ? "It arrived?" : "It did not arrive?", text: h("p", null, arrived ? "It is not sent again; what comes behind it follows." : "It is sent again, and what comes behind it follows."), yes: "Say so", kind: "go", field: h("label.field", { for: "reason" }, "How do you know? It stays in the audit.", reason) });
    return yes && tried(api.settleMessage(id, { arrived, reason: reason.value.trim() || "the operator says so" }), "Noted");
  }
}

/** @param {Whole} whole */
function heading(whole) {
  const [word, kind] = outcome(whole.state), { address } = parted(whole.to);
  const problem = whole.error ?? (whole.state === "unknown" ? whole.detail : undefined), bad = whole.state === "failed" || whole.state === "denied";
  return h("header.asks", null, h("div", null,
    h("div.line", null, h("span.face", { "aria-hidden": "true" }, (whole.agent[0] ?? "?").toUpperCase()), h("b", null, inline(whole.agent)), whole.action === "send" ? "wrote to" : [inline(whole.action), " at"]),
    h("h2.target", null, whole.known_as ? inline(whole.known_as) : machine(address)),
    h("div.raw", null, h("span", null, `${channelOf(whole.to)}, account `, machine(whole.account)), h("span", null, "address ", machine(address)), whole.silent ? tag("silent") : null)),
  h("div.stand", null, tag(word, kind), h("small", null, clock.ago(whole.accepted_at))),
  problem || whole.reason ? h(`div.why${bad ? ".bad" : problem ? "" : ".calm"}`, null, icon(problem ? "alert" : "ask"), h("div", null, h("p", null, words(problem ?? whole.reason ?? "")), whole.due_at && whole.attempts ? h("p", null, "The next try is at ", clock.at(whole.due_at), ".") : null)) : null);
}

/** @param {Whole} whole */
function text(whole) {
  const several = whole.parts.length > 1, platform = channelOf(whole.to);
  return h("section", { "aria-label": "The text" },
    whole.written !== null ? h("div.beside", null, h("div", null, h("h3", null, "What the agent wrote"), h("div.words", null, words(whole.written))), h("div", null, h("h3", null, "What the hooks made of it"), h("div.words", null, words(whole.message)))) : null,
    whole.written !== null && !several ? null : h("h2.text-title", null, several ? `What ${platform} gets` : "The text"),
    whole.parts.map((part, at) => {
      const state = h("span", null, partOutcome(part.state), part.platform_id ? [", there ", machine(part.platform_id)] : null);
      return [at ? h("div.cut", null, "and then") : null,
        several || part.platform_id || part.error ? h("div.part-head", null, h("h3", null, several ? `Part ${at + 1} of ${whole.parts.length}` : ""), state) : null,
        whole.written !== null && !several ? null : h("div.words", null, words(part.text ?? whole.message)),
        part.error && part.error !== whole.error ? h("p.wrong", null, words(part.error)) : null];
    }));
}

/** @param {AuditRow[]} rows */
function timeline(rows) {
  if (!rows.length) return h("p.quiet", null, "The audit’s rows of it are past their retention.");
  return h("ol.timeline", null, rows.map((row) => {
    const { reason, verdict } = row.detail, kind = row.event.split(".")[1] ?? "";
    return h("li", null, h(`span.dot${kind === "sent" ? ".good" : /failed|denied|expired|rejected|undelivered/.test(kind) ? ".bad" : kind === "held" ? ".warn" : ""}`),
      h("div", null, h("b", null, eventWords(row.event)), row.actor === "hub" ? null : h("span", null, " by ", inline(row.actor.replace(/^(companion|agent|operator|web):/, ""))), typeof reason === "string" && verdict === undefined ? h("p", null, words(reason)) : null),
      h("div.when", null, clock.at(row.at)));
  }));
}

/** @param {Whole} whole */
function more(whole) {
  /** @type {[string, import("./dom.js").Kids | null | undefined][]} */
  const lines = [
    ["Message", machine(whole.id)], ["Written to", machine(whole.to)], ["Its turn came from", whole.origin && machine(whole.origin)], ["Answers", whole.reply_to && machine(whole.reply_to)],
    ["Accepted", clock.at(whole.accepted_at)], ["Ended", whole.ended_at && clock.at(whole.ended_at)], ["Deadline", whole.deadline && clock.at(whole.deadline)],
    ["Parts arrived", whole.sent], ["Failed attempts", whole.attempts || null], ["Approvals", whole.approvals], ["Approved by", whole.approved_by?.length ? inline(whole.approved_by.join(", ")) : null],
    ["An operator said", whole.history?.map((line) => h("p", null, words(line)))],
  ];
  return facts(/** @type {[string, import("./dom.js").Kids][]} */ (lines.filter(([, value]) => value !== null && value !== undefined && value !== "")), "proof");
}
