// The audit: every row, and whether the chain holds.

import { api, AUDIT_EXPORT, verifyAudit } from "./api.js";
import * as clock from "./clock.js";
import { button, empty, h, icon, page, patch, reason, redraw, say, tried } from "./dom.js";
import { progress } from "./sheet.js";
import { coalesced, link } from "./hub.js";
import { eventsOf } from "./live.js";
import { eventWords } from "./state.js";
import { grouped, inline, machine, num } from "./text.js";

/** @typedef {import("./types.js").AuditRow} AuditRow */
const NOUNS = [
  ["", "Everything"],
  ["message", "Messages"],
  ["decision", "Decisions"],
  ["device", "Companions"],
  ["pairing", "Pairing"],
  ["token", "Tokens"],
  ["login", "Logins"],
  ["configuration", "Configuration"],
  ["call", "Refused calls"],
  ["turn", "Turns"],
  ["ota", "Updates"],
  ["access", "People"]
];
const PAGE = 60;

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when }) {
  const noun = h(
    "select",
    { "aria-label": "What", onchange: () => tried(anew()) },
    NOUNS.map(([value, name]) => h("option", { value }, name))
  );
  const actor = h("input", {
    type: "search",
    placeholder: "By whom",
    "aria-label": "By whom",
    spellcheck: "false",
    onchange: () => tried(anew())
  });
  const body = h("tbody"),
    note = h("div"),
    verdict = h("div", { role: "status" });
  const more = button("Older ones", () => tried(older()), { kind: "small" }),
    check = button("Check all of it", () => verify(), { icon: "chain", kind: "go" });
  page(
    root,
    "Audit",
    "What happened, in a chain that shows if a row was changed or taken out",
    [h("a.btn", { href: AUDIT_EXPORT, download: true }, "Export"), check],
    verdict,
    h(
      "section.tile",
      h("div.line.audit-filters", noun, actor),
      note,
      h(
        "div.scroll",
        { tabindex: "0", role: "region", "aria-label": "Rows of the audit" },
        h(
          "table.audit",
          h(
            "thead",
            h(
              "tr",
              ["Row", "When", "What happened", "By", "Hash"].map((name) => h("th", { scope: "col" }, name))
            )
          ),
          body
        )
      ),
      more
    )
  );
  /** @type {AuditRow[]} */
  let rows = [];
  /** @type {number | null} before which row to look on */
  let next = null;

  const filter = () => ({ event: noun.value, actor: actor.value.trim(), limit: PAGE });
  function anew() {
    rows = [];
    return first();
  }
  async function first() {
    const answer = await api.audit(filter());
    if (signal.aborted) return;
    const last = answer.rows.at(-1)?.seq ?? 0,
      newest = rows[0]?.seq ?? 0;
    // What was read before goes on below, if nothing is missing between the two.
    const kept = last <= newest ? rows.filter((row) => row.seq < last) : [];
    rows = [...answer.rows, ...kept];
    if (!kept.length) next = answer.next;
    draw();
  }
  async function older() {
    if (next === null) return;
    const answer = await api.audit({ ...filter(), before: next });
    rows = [...rows, ...answer.rows];
    next = answer.next;
    draw();
  }
  function draw() {
    patch(body, rows, (row) => String(row.seq), drawRow);
    more.hidden = next === null;
    redraw(
      note,
      rows.length
        ? null
        : empty(
            "chain",
            noun.value || actor.value ? "No row fits" : "No row yet",
            h("p", noun.value || actor.value ? "Choose something else above." : "Everything that happens at this hub appears here.")
          )
    );
  }
  /** @param {AuditRow} row */
  function drawRow(row) {
    const said = row.detail["reason"] ?? row.detail["name"] ?? row.detail["endpoint"];
    return h(
      "tr",
      h("td.number", num(row.seq)),
      h("td", clock.at(row.at)),
      h(
        "td",
        h("b", eventWords(row.event)),
        typeof said === "string" ? [" ", h("span.quiet", inline(said.slice(0, 200)))] : null,
        row.message ? [" ", h("a.link", { href: link("messages", row.message), "aria-label": `Message ${row.message}` }, "message")] : null
      ),
      h("td", inline(row.actor)),
      h("td", h("span.mono.quiet", { title: row.hash }, grouped(row.hash, 8)))
    );
  }

  async function verify() {
    check.disabled = true;
    const bar = progress("Rows checked", 0),
      told = h("p", "Reading every row, and every signature in it…");
    redraw(verdict, h("section.tile", told, bar));
    try {
      let report = /** @type {import("./types.js").AuditReport | null} */ (null);
      for await (const { event, data } of eventsOf(await verifyAudit(signal), () => {})) {
        if (event === "progress") {
          const { done, of } = JSON.parse(data);
          bar.max = of;
          bar.value = done;
        }
        if (event === "report") report = JSON.parse(data);
      }
      if (!report) throw new Error("The check broke off. Try again.");
      redraw(verdict, outcome(report));
    } catch (error) {
      redraw(verdict);
      if (!signal.aborted) say(reason(error), "no");
    }
    check.disabled = false;
  }
  tried(first());
  when(/./, coalesced(first, 500));
  return () => {};
}

/** @param {import("./types.js").AuditReport} report */
function outcome({ faults, rows, signed_to, checkpoints, decisions, purged_to, last }) {
  const good = !faults.length,
    number = (/** @type {number} */ value) => num(value);
  return h(
    `section.tile.report${good ? ".good" : ".bad"}`,
    h("header", icon(good ? "check" : "alert"), h("h2", good ? "The chain holds" : "Something does not fit")),
    good
      ? null
      : h(
          "ul",
          faults.map((fault) => h("li", inline(fault)))
        ),
    h(
      "p",
      `${number(rows)} rows, ${number(checkpoints)} checkpoints and ${number(decisions)} signed decisions were checked. The hub’s signature covers everything up to row ${number(signed_to)} of ${number(last)}.`,
      purged_to ? ` Rows up to ${number(purged_to)} are past their retention.` : ""
    ),
    good
      ? null
      : h(
          "p",
          "Keep a copy of the data directory before anything else, then compare with a backup: ",
          machine("gatepost audit verify"),
          "."
        )
  );
}
