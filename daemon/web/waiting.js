// What waits for a person: what asks now, what asks later, and what was decided today.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { empty, h, icon, patch, redraw, tag } from "./dom.js";
import { hub, link, whenApprovals, wide } from "./hub.js";
import { panes } from "./panes.js";
import { approvalCard } from "./card.js";
import { count, inline, place } from "./text.js";
import { outcome } from "./state.js";

/** @typedef {import("./types.js").ApprovalRow} ApprovalRow */

/** @param {ApprovalRow} row */
function drawRow(row) {
  const decided = row.decided_at !== null, asksLater = !decided && row.asks_at !== null;
  const [word, kind] = outcome(row.state);
  const tags = [row.files && tag(count(row.files, "file"), "", "clip"), asksLater && tag(`its turn comes at ${clock.clock(row.asks_at ?? "")}`, "wait")].filter(Boolean);
  return h(`a.row${decided ? ".done" : ""}`, { href: link("waiting", row.request) },
    h("div.who", null, h("span", null, inline(row.agent)), icon(row.kind === "question" ? "ask" : "arrow"), h("span", null, row.kind === "question" ? "asks you" : place(row))),
    h("div.when", null, decided ? clock.at(row.decided_at ?? "") : asksLater ? "later" : clock.left(row.deadline)),
    h("div.what", null, decided ? [tag(row.kind === "question" && row.state === "sent" ? "approved" : word, kind), " "] : null, inline(row.line)),
    tags.length ? h("div.tags", null, tags) : null);
}

/** @type {import("./hub.js").Screen} */
export function open({ root, signal }) {
  const view = panes(root, { title: "Waiting", back: link("waiting"), label: "Waiting for a decision" });
  const groups = ["Asks you now", "Later", "Decided today"].map((title) => {
    const rows = h("div");
    return { rows, section: h("section", { hidden: true }, h("h2.group", null, title), rows) };
  });
  const nothing = h("div");
  view.body.append(nothing, ...groups.map((one) => one.section));
  /** @type {import("./hub.js").Route | null} */
  let at = null;
  /** @type {ReturnType<typeof approvalCard> | null} */
  let card = null;

  const shown = () => {
    const lists = hub.approvals;
    if (!lists) return [];
    return [...lists.waiting, ...lists.later, ...lists.decided];
  };

  function choose() {
    if (!at || !hub.approvals) return;
    const all = shown(), id = at.arg || (wide.matches ? (card && all.some((row) => row.request === card?.request) ? card.request : all[0]?.request ?? null) : null);
    view.choose(id, !!at.arg);
    const open = [...hub.approvals.waiting, ...hub.approvals.later], place = open.findIndex((row) => row.request === id);
    view.position.textContent = place >= 0 ? `${place + 1} of ${open.length}` : "";
    if (!id) {
      card?.end();
      card = null;
      redraw(view.shown);
    } else if (card?.request !== id) {
      card?.end();
      card = approvalCard(view.shown, id);
    } else card.changed(all.find((row) => row.request === id));
  }

  whenApprovals(() => {
    const lists = /** @type {import("./types.js").Approvals} */ (hub.approvals);
    const now = lists.waiting.length, later = lists.later.length;
    view.note.textContent = [now ? `${now} now` : "", later ? `${later} later` : ""].filter(Boolean).join(", ");
    [lists.waiting, lists.later, lists.decided].forEach((rows, which) => {
      const group = /** @type {typeof groups[number]} */ (groups[which]);
      patch(group.rows, rows, (row) => row.request, drawRow);
      group.section.hidden = !rows.length;
    });
    redraw(nothing, now + later ? null : empty("check", "Nothing waits for you",
      h("p", null, "A message that a rule holds appears here at once, with all that will be sent."),
      h("p", null, "Agents whose messages shall be held have them under ", h("code", null, "hold"), ": see ", h("a.link", { href: link("agents") }, "Agents"), ".")));
    choose();
    view.mark();
  }, signal);
  wide.addEventListener("change", choose, { signal });
  signal.addEventListener("abort", () => card?.end());
  if (!hub.approvals) api.approvals().catch(() => null);

  return (to) => {
    at = to;
    choose();
  };
}
