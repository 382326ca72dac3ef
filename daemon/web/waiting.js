// What waits for a person: what asks now, what asks later, and what was decided today.

import * as clock from "./clock.js";
import { approvalCard } from "./card.js";
import { empty, h, icon, patch, redraw, tag } from "./dom.js";
import { hub, link, to, whenApprovals } from "./hub.js";
import { panes } from "./panes.js";
import { outcome } from "./state.js";
import { count, inline, place } from "./text.js";

/** @typedef {import("./types.js").ApprovalRow} ApprovalRow */

/** @param {ApprovalRow} row */
function drawRow(row) {
  const { decided_at: decided, asks_at: later } = row,
    question = row.kind === "question",
    [word, kind] = outcome(row.state);
  const tags = [
    row.files && tag(count(row.files, "file"), "", "clip"),
    !decided && later && tag(`its turn comes at ${clock.clock(later)}`, "wait")
  ].filter(Boolean);
  return h(
    `a.row${decided ? ".done" : ""}`,
    { href: link("waiting", row.request) },
    h("div.who", h("span", inline(row.agent)), icon(question ? "ask" : "arrow"), h("span", question ? "asks you" : place(row))),
    h("div.when", decided ? clock.at(decided) : later ? "later" : clock.left(row.deadline)),
    h("div.what", decided ? [tag(question && row.state === "sent" ? "approved" : word, kind), " "] : null, inline(row.line)),
    tags.length ? h("div.tags", tags) : null
  );
}

/** @type {import("./hub.js").Screen} */
export function open(context) {
  /** @type {ReturnType<typeof approvalCard> | null} */
  let card = null;
  const view = panes(context, {
    screen: "waiting",
    title: "Waiting",
    show(id) {
      card?.end();
      card = id ? approvalCard(view.shown, id) : null;
      position();
    }
  });
  /** Which of those that wait it is. */
  const position = () => {
    const open = [...(hub.approvals?.waiting ?? []), ...(hub.approvals?.later ?? [])],
      at = open.findIndex((row) => row.request === view.chosen());
    view.position.textContent = at >= 0 ? `${at + 1} of ${open.length}` : "";
  };
  const nothing = h("div"),
    groups = ["Asks you now", "Later", "Decided today"].map((title) => {
      const rows = h("div");
      return { rows, section: h("section", { hidden: true }, h("h2.group", title), rows) };
    });
  view.body.append(nothing, ...groups.map((one) => one.section));
  context.signal.addEventListener("abort", () => card?.end());

  whenApprovals(() => {
    const { waiting = [], later = [], decided = [] } = hub.approvals ?? {},
      open = [...waiting, ...later],
      all = [...open, ...decided];
    view.note.textContent = [waiting.length ? `${waiting.length} now` : "", later.length ? `${later.length} later` : ""]
      .filter(Boolean)
      .join(", ");
    groups.forEach(({ rows, section }, which) => {
      const these = [waiting, later, decided][which] ?? [];
      patch(rows, these, (row) => row.request, drawRow);
      section.hidden = !these.length;
    });
    redraw(
      nothing,
      open.length
        ? null
        : empty(
            "check",
            "Nothing waits for you",
            h("p", "A message that a rule holds appears here at once, with all that will be sent."),
            h("p", "What is held stands under ", h("code", "hold"), " of each agent: see ", to("agents", "Agents"), ".")
          )
    );
    view.listed(all.map((row) => row.request));
    position();
    card?.changed(all.find((row) => row.request === view.chosen()));
  }, context.signal);
  return view.go;
}
