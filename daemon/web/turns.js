// Turns: what agents were woken for, who has it, what became of it.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { act, ask, button, empty, facts, h, icon, patch, reason, redraw, tag, tried } from "./dom.js";
import { coalesced, link, to } from "./hub.js";
import { panes } from "./panes.js";
import { head, stand, talk, where } from "./sheet.js";
import { inline, machine, words } from "./text.js";

/** @typedef {import("./types.js").TurnRow} TurnRow */
/** @type {Record<string, [string, string]>} */
const STATES = { waiting: ["waits", "wait"], leased: ["at work", ""], failed: ["failed", "no"], done: ["ended", "sent"] };
const CAUSES = { message: "a message", task: "a task that was due", heartbeat: "its heartbeat", agent: "another agent", system: "the hub" };
const SCOPES = { owner: "yours", known: "of somebody who is known", unknown: "of a stranger", blocked: "of somebody who is blocked" };

/** @type {import("./hub.js").Screen} */
export function open(context) {
  const view = panes(context, {
    screen: "turns",
    title: "Turns",
    show(id) {
      drawn = "";
      show(id);
    }
  });
  const list = h("div.talks"),
    nothing = h("div");
  const state = h(
    "select",
    { "aria-label": "State", onchange: () => refresh() },
    h("option", { value: "" }, "Every state"),
    Object.entries(STATES).map(([value, [name]]) => h("option", { value }, name))
  );
  view.tools.append(state);
  view.body.append(nothing, list);
  let drawn = "";

  /** @param {TurnRow} one */
  const drawRow = (one) => {
    const [word, kind] = STATES[one.state] ?? [one.state, ""];
    return h(
      "a.row",
      { href: link("turns", one.turn) },
      h("div.who", h("span", inline(one.agent)), icon("turn"), h("span", inline(one.session))),
      h("div.when", clock.ago(one.at)),
      h("div.what", tag(word, kind), " ", inline(one.outcome && one.state !== "leased" ? one.outcome : `woken by ${CAUSES[one.cause]}`))
    );
  };

  const refresh = coalesced(async () => {
    const { turns } = await api.turns({ state: state.value, limit: 200 });
    patch(list, turns, (one) => one.turn, drawRow);
    redraw(
      nothing,
      turns.length
        ? null
        : state.value
          ? empty("search", "No turn is in this state")
          : empty(
              "turn",
              "No agent was woken yet",
              h("p", "A turn begins when somebody writes to an agent, or when a task or a heartbeat is due."),
              h("p", "Let a channel receive under ", to("channels", "Channels"), ".")
            )
    );
    view.note.textContent = turns.length ? String(turns.length) : "";
    view.listed(turns.map((one) => one.turn));
  }, 0);
  refresh();
  context.when(/^(turn|task)\./, () => {
    refresh();
    show(view.chosen());
  });
  context.often(60, refresh);

  /** @param {string | null} id */
  async function show(id) {
    if (!id) return;
    let turn;
    try {
      turn = await api.turn(id);
    } catch (error) {
      return redraw(view.shown, empty("turn", "This turn could not be read", h("p", reason(error))));
    }
    const now = JSON.stringify(turn);
    if (view.chosen() !== id || now === drawn) return;
    drawn = now;
    const { agent, target, outcome, ended_at, items } = turn,
      [word, kind] = STATES[turn.state] ?? [turn.state, ""],
      failed = turn.state === "failed";
    const again = () => {
      refresh();
      show(id);
    };
    const drop = async () => {
      if (
        await ask({
          title: "Drop this turn?",
          text: h("p", "No agent takes it any more. What was said stays in the conversation."),
          yes: "Drop it"
        })
      )
        await tried(api.operateTurn(id, "drop"), "Dropped");
      again();
    };
    redraw(
      view.shown,
      h(
        "div.sheet",
        head({
          agent,
          does: `was woken by ${CAUSES[turn.cause]}`,
          title: inline(turn.session),
          about: target && h("div.raw", where(target)),
          side: stand(tag(word, kind), turn.at),
          why: outcome && h(`div.why${failed ? ".bad" : ".calm"}`, icon(failed ? "alert" : "ask"), h("div", words(outcome)))
        }),
        h(
          "section",
          h("h2.text-title", "What stands in it"),
          items.length
            ? talk(
                items.map((one) => ({
                  ...one,
                  who: one.sender.name ?? one.sender.id,
                  text: words(one.text),
                  more: one.files.map((file) => tag(file.name, "", "clip"))
                }))
              )
            : h("p.quiet", "Nobody’s words: it was woken by itself.")
        ),
        h(
          "section",
          facts(
            [
              ["Its words are", SCOPES[turn.scope]],
              ["Given out", `${turn.attempts} of 4 times`],
              ["Due", clock.at(turn.due_at)],
              ["Ended", ended_at && clock.at(ended_at)],
              ["Turn", machine(id)]
            ],
            "about"
          )
        ),
        turn.state === "done"
          ? null
          : h(
              "div.acts",
              failed ? act("Give it out again", () => api.operateTurn(id, "retry"), "It waits again", again, { kind: "go" }) : null,
              button("Drop it", drop, { kind: "stop" })
            )
      )
    );
  }
  return view.go;
}
