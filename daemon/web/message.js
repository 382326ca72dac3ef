// One message: what was written and what is sent, part by part, and everything that happened to it.

import { api, Refused } from "./api.js";
import * as clock from "./clock.js";
import { act, ask, button, empty, facts, h, icon, reason, redraw, tag, tried } from "./dom.js";
import { link } from "./hub.js";
import { eventWords, outcome, partOutcome } from "./state.js";
import { fileBox, head, stand } from "./sheet.js";
import { channelOf, inline, machine, parted, words } from "./text.js";

/** @typedef {import("./types.js").Whole} Whole */
/** @typedef {import("./types.js").AuditRow} AuditRow */

const OVER = ["sent", "failed", "denied", "expired", "cancelled", "unknown"];

/** @param {HTMLElement} root @param {string} id @param {(whole: Whole) => void} changed */
export function messageCard(root, id, changed) {
  let ended = false,
    drawn = "";
  async function load() {
    /** @type {Whole} */
    let whole;
    /** @type {AuditRow[]} */
    let rows = [];
    try {
      [whole, { rows }] = await Promise.all([api.message(id), api.audit({ message: id, limit: 200 })]);
    } catch (error) {
      const refused = /** @type {Refused} */ (error);
      if (!ended && (refused.status || !drawn))
        redraw(
          root,
          empty(
            "mail",
            "This message is not here",
            h("p", refused.status === 404 ? "It was purged, or its retention is over." : reason(error))
          )
        );
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
    return h(
      "div.sheet",
      heading(whole),
      text(whole),
      whole.attachments?.length
        ? h(
            "section",
            { "aria-label": "Files" },
            whole.attachments.map((file) => fileBox({ ...file, digest: file.sha256 }, true))
          )
        : null,
      h("section", h("h2", "What happened"), timeline(rows)),
      h("section", h("details", { "data-key": "more" }, h("summary", icon("chev", "chev"), "More about it"), more(whole))),
      actions(whole)
    );
  }

  /** @param {Whole} whole */
  function actions(whole) {
    const { state } = whole;
    const stop = { kind: "stop" },
      after =
        (
          /** @type {string} */ title,
          /** @type {string} */ text,
          /** @type {string} */ yes,
          /** @type {() => Promise<unknown>} */ call,
          /** @type {string} */ done,
          /** @type {string} */ typed = ""
        ) =>
        async () => {
          if (await ask({ title, text: h("p", text), yes, typed })) await tried(call(), done);
          load();
        };
    const buttons = [
      state === "held" && whole.request ? h("a.btn.go", { href: link("waiting", whole.request) }, icon("hand"), "Look at the card") : null,
      ["accepted", "held", "ready"].includes(state)
        ? button(
            "Take it back",
            after(
              "Take this message back?",
              "It is not sent, and its agent is told.",
              "Take it back",
              () => api.cancelMessage(id),
              "Taken back"
            ),
            stop
          )
        : null,
      state === "failed" ? act("Send again", () => api.retryMessage(id), "It is sent again", load, { kind: "go" }) : null,
      state === "unknown"
        ? [
            button("It arrived", () => settle(true)),
            button("It did not arrive", () => settle(false)),
            button(
              "Send again, perhaps twice",
              after(
                "Send it again?",
                "Nobody knows whether it arrived. If it did, it arrives a second time. Ask the other side first if you can.",
                "Send it again",
                () => api.retryMessage(id, { mayDuplicate: true }),
                "It is sent again",
                "twice"
              ),
              stop
            )
          ]
        : null,
      OVER.includes(state)
        ? button(
            "Remove",
            after(
              "Remove this message?",
              "Its text and its receipt are deleted. The audit keeps that it was there.",
              "Remove it",
              () => api.purgeMessage({ id }),
              "Removed"
            ),
            stop
          )
        : null
    ].filter(Boolean);
    return buttons.length ? h("div.acts", buttons) : null;
  }

  /** @param {boolean} arrived */
  async function settle(arrived) {
    const field = h("input", { id: "reason", maxlength: 500, placeholder: arrived ? "Ann has seen it" : "Ann has not got it" });
    const yes = await ask({
      title: arrived ? "It arrived?" : "It did not arrive?",
      text: h("p", arrived ? "It is not sent again; what comes behind it follows." : "It is sent again, and what comes behind it follows."),
      yes: "Say so",
      kind: "go",
      field: h("label.field", { for: "reason" }, "How do you know? It stays in the audit.", field)
    });
    if (yes) await tried(api.settleMessage(id, { arrived, reason: field.value.trim() || "the operator says so" }), "Noted");
    load();
  }
}

/** @param {Whole} whole */
function heading(whole) {
  const [word, kind] = outcome(whole.state),
    { address } = parted(whole.to);
  const problem = whole.error ?? (whole.state === "unknown" ? whole.detail : undefined),
    bad = whole.state === "failed" || whole.state === "denied";
  return head({
    agent: whole.agent,
    does: whole.action === "send" ? "wrote to" : [inline(whole.action), " at"],
    title: whole.known_as ? inline(whole.known_as) : machine(address),
    about: h(
      "div.raw",
      h("span", `${channelOf(whole.to)}, account `, machine(whole.account)),
      h("span", "address ", machine(address)),
      whole.silent ? tag("silent") : null
    ),
    side: stand(tag(word, kind), whole.accepted_at),
    why:
      problem || whole.reason
        ? h(
            `div.why${bad ? ".bad" : problem ? "" : ".calm"}`,
            icon(problem ? "alert" : "ask"),
            h(
              "div",
              h("p", words(problem ?? whole.reason ?? "")),
              whole.due_at && whole.attempts ? h("p", "The next try is at ", clock.at(whole.due_at), ".") : null
            )
          )
        : null
  });
}

/** @param {Whole} whole */
function text(whole) {
  const several = whole.parts.length > 1,
    platform = channelOf(whole.to);
  return h(
    "section",
    { "aria-label": "The text" },
    whole.written !== null
      ? h(
          "div.beside",
          h("div", h("h2.small", "What the agent wrote"), h("div.words", words(whole.written))),
          h("div", h("h2.small", "What the hooks made of it"), h("div.words", words(whole.message)))
        )
      : null,
    whole.written !== null && !several ? null : h("h2.text-title", several ? `What ${platform} gets` : "The text"),
    whole.parts.map((part, at) => {
      const state = h("span", partOutcome(part.state), part.platform_id ? [", there ", machine(part.platform_id)] : null, seen(part));
      return [
        at ? h("div.cut", "and then") : null,
        several || part.platform_id || part.error
          ? h("div.part-head", several ? h("h3", `Part ${at + 1} of ${whole.parts.length}`) : h("i"), state)
          : null,
        whole.written !== null && !several ? null : h("div.words", words(part.text ?? whole.message)),
        part.error && part.error !== whole.error ? h("p.wrong", words(part.error)) : null
      ];
    })
  );
}

/** When people got and read it. @param {PartReceipt} part */
const seen = ({ delivered_at, read_at }) =>
  read_at ? [", read ", clock.at(read_at)] : delivered_at ? [", delivered ", clock.at(delivered_at)] : null;

/** @param {AuditRow[]} rows */
function timeline(rows) {
  if (!rows.length) return h("p.quiet", "The audit’s rows of it are past their retention.");
  return h(
    "ol.timeline",
    rows.map((row) => {
      const { reason, verdict } = row.detail,
        kind = row.event.split(".")[1] ?? "";
      return h(
        "li",
        h(
          `span.dot${kind === "sent" ? ".good" : /failed|denied|expired|rejected|undelivered/.test(kind) ? ".bad" : kind === "held" ? ".warn" : ""}`
        ),
        h(
          "div",
          h("b", eventWords(row.event)),
          row.actor === "hub" ? null : h("span", " by ", inline(row.actor.replace(/^(companion|agent|operator|web):/, ""))),
          typeof reason === "string" && verdict === undefined ? h("p", words(reason)) : null
        ),
        h("div.when", clock.at(row.at))
      );
    })
  );
}

/** @param {Whole} whole */
const more = (whole) =>
  facts(
    [
      ["Message", machine(whole.id)],
      ["Written to", machine(whole.to)],
      ["Its turn came from", whole.origin && machine(whole.origin)],
      ["Answers", whole.reply_to && machine(whole.reply_to)],
      ["Accepted", clock.at(whole.accepted_at)],
      ["Ended", whole.ended_at && clock.at(whole.ended_at)],
      ["Deadline", whole.deadline && clock.at(whole.deadline)],
      ["Parts arrived", whole.sent],
      ["Failed attempts", whole.attempts || null],
      ["Approvals", whole.approvals],
      ["Approved by", whole.approved_by?.length ? inline(whole.approved_by.join(", ")) : null],
      ["An operator said", whole.history?.map((line) => h("p", words(line)))]
    ],
    "about"
  );
