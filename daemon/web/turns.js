// Turns: what agents were woken for, who has it, what became of it.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { ask, button, empty, facts, h, icon, patch, redraw, tag, tried } from "./dom.js";
import { coalesced, link, wide } from "./hub.js";
import { panes } from "./panes.js";
import { channelOf, inline, machine, parted, words } from "./text.js";

/** @typedef {import("./types.js").TurnRow} TurnRow */
/** @type {Record<string, [string, string]>} */
const STATES = { waiting: ["waits", "wait"], leased: ["at work", ""], done: ["ended", "sent"], failed: ["failed", "no"] };
/** @type {Record<string, string>} */
const CAUSES = { message: "a message", task: "a task that was due", heartbeat: "its heartbeat", agent: "another agent", system: "the hub" };
/** @type {Record<string, string>} */
const SCOPES = { owner: "yours", known: "of somebody who is known", unknown: "of a stranger", blocked: "of somebody who is blocked" };

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const view = panes(root, { title: "Turns", back: link("turns"), label: "Turns" });
  const list = h("div.talks"), nothing = h("div");
  const state = /** @type {HTMLSelectElement} */ (h("select", { "aria-label": "State", onchange: () => refresh() }, [["", "Every state"], ["waiting", "Waiting"], ["leased", "At work"], ["failed", "Failed"], ["done", "Ended"]].map(([value, name]) => h("option", { value }, name))));
  view.tools.append(state);
  view.body.append(nothing, list);
  /** @type {TurnRow[]} */
  let turns = [];
  let at = /** @type {import("./hub.js").Route | null} */ (null), chosen = "", drawn = "", read = false;

  /** @param {TurnRow} one */
  const drawRow = (one) => {
    const [word, kind] = STATES[one.state] ?? [one.state, ""];
    return h("a.row", { href: link("turns", one.turn) }, h("div.who", null, h("span", null, inline(one.agent)), icon("turn"), h("span", null, inline(one.session))), h("div.when", null, clock.ago(one.at)),
      h("div.what", null, tag(word, kind), " ", inline(one.outcome && one.state !== "leased" ? one.outcome : `woken by ${CAUSES[one.cause] ?? one.cause}`)));
  };

  const refresh = coalesced(async () => {
    ({ turns } = await api.turns({ state: state.value }));
    if (signal.aborted) return;
    read = true;
    patch(list, turns, (one) => one.turn, drawRow);
    redraw(nothing, turns.length ? null : state.value ? empty("search", "No turn is in this state") : empty("turn", "No agent was woken yet", h("p", null, "A turn begins when somebody writes to an agent, or when a task or a heartbeat is due."), h("p", null, "Let a channel receive under ", h("a.link", { href: link("channels") }, "Channels"), ".")));
    view.note.textContent = turns.length ? String(turns.length) : "";
    choose();
  }, 0);
  refresh();
  when(/^(turn|task)\./, () => { refresh(); show(chosen); });
  often(60, refresh);

  function choose() {
    const id = at?.arg || (wide.matches ? (turns.some((one) => one.turn === chosen) ? chosen : turns[0]?.turn ?? null) : null);
    view.choose(id, !!at?.arg);
    if (!id) { chosen = ""; redraw(view.shown); } else if (id !== chosen || !drawn) show(id);
  }
  wide.addEventListener("change", choose, { signal });

  /** @param {string} id */
  async function show(id) {
    if (!id) return;
    chosen = id;
    let turn;
    try {
      turn = await api.turn(id);
    } catch (error) {
      if (!signal.aborted) redraw(view.shown, empty("turn", /** @type {Error} */ (error).message, h("p", null, /** @type {api.Refused} */ (error).hint ?? "")));
      return;
    }
    const now = JSON.stringify(turn);
    if (signal.aborted || chosen !== id || now === drawn) return;
    drawn = now;
    const { agent, session, cause, scope, target, attempts, outcome, due_at, ended_at, items } = turn, [word, kind] = STATES[turn.state] ?? [turn.state, ""];
    const again = () => { drawn = ""; refresh(); show(id); };
    redraw(view.shown, h("div.sheet", null,
      h("header.asks", null, h("div", null, h("div.line", null, h("span.face", { "aria-hidden": "true" }, (agent[0] ?? "?").toUpperCase()), h("b", null, inline(agent)), `was woken by ${CAUSES[cause] ?? cause}`), h("h2.target", null, inline(session)), target ? h("div.raw", null, h("span", null, channelOf(target), " ", machine(parted(target).address))) : null),
        h("div.stand", null, tag(word, kind), h("small", null, clock.ago(turn.at))),
        outcome ? h(`div.why${turn.state === "failed" ? ".bad" : ".calm"}`, null, icon(turn.state === "failed" ? "alert" : "ask"), h("div", null, words(outcome))) : null),
      h("section", null, h("h2.text-title", null, "What stands in it"), items.length ? h("ol.said-lines", null, items.map((one) => h("li", null, h("div.by", null, h("b", null, inline(one.sender.name ?? one.sender.id)), " ", clock.at(one.at), one.kind === "message" ? null : [" ", tag(one.kind)]), h("div.words", null, words(one.text)), one.files.map((file) => tag(file.name, "", "clip"))))) : h("p.quiet", null, "Nobody’s words: it was woken by itself.")),
      h("section", null, facts([["Its words are", SCOPES[scope] ?? scope], ["Given out", `${attempts} of 4 times`], ["Due", clock.at(due_at)], ...(ended_at ? /** @type {[string, Node][]} */ ([["Ended", clock.at(ended_at)]]) : []), ["Turn", machine(id)]], "proof")),
      turn.state === "done" ? null : h("div.acts", null, turn.state === "failed" ? button("Give it out again", async () => { await tried(api.operateTurn(id, "retry"), "It waits again"); again(); }, { kind: "go" }) : null,
        button("Drop it", async () => { if (await ask({ title: "Drop this turn?", text: h("p", null, "No agent takes it any more. What was said stays in the conversation."), yes: "Drop it" })) { await tried(api.operateTurn(id, "drop"), "Dropped"); again(); } }, { kind: "stop" }))));
  }

  return (to) => {
    at = to;
    if (read) choose();
    else if (to.arg) { view.choose(to.arg, true); show(to.arg); }
  };
}
