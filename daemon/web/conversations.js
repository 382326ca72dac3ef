// Where agents speak with whom: what was said both ways, an answer to an agent, and who asks to be let in.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { act, empty, h, icon, patch, reason, redraw, tag, tried } from "./dom.js";
import { coalesced, link, to } from "./hub.js";
import { panes } from "./panes.js";
import { head, talk, where } from "./sheet.js";
import { channelName, inline, machine, parted, words } from "./text.js";

/** @typedef {import("./types.js").Session} Session */
/** @typedef {import("./types.js").AccessRequest} AccessRequest */

/** The agent's name has no slash; a session's may have anything. @param {{agent: string, session: string}} of */
const idOf = ({ agent, session }) => `${agent}/${session}`;

/** The hub's own inbox, which is of no session. */
const LOCAL = "local";

/** @type {import("./hub.js").Screen} */
export function open(context) {
  const view = panes(context, {
    screen: "conversations",
    title: "Conversations",
    show(id) {
      drawn = "";
      show(id);
    }
  });
  const asks = h("div"),
    list = h("div.talks"),
    nothing = h("div"),
    inbox = h("div.talks");
  view.body.append(asks, nothing, list, inbox);
  /** @type {Session[]} */
  let sessions = [];
  let drawn = "";

  /** @param {Session} one */
  const drawRow = (one) =>
    h(
      "a.row",
      { href: link("conversations", idOf(one)) },
      h("div.who", h("span", inline(one.agent)), icon("chat"), h("span", inline(one.session))),
      h("div.when", clock.ago(one.last_at)),
      h(
        "div.what",
        one.places[0] ? where(one.places[0]) : "no place yet",
        one.places.length > 1 ? ` and ${one.places.length - 1} more` : null
      )
    );

  /** @param {AccessRequest} one */
  const drawRequest = (one) =>
    h(
      "div.asking",
      h(
        "p",
        h("b", one.name ? inline(one.name) : machine(one.subject)),
        one.what === "person" ? " wants to write to " : " is a conversation that no route names; it wrote to ",
        h("b", inline(one.agent)),
        "."
      ),
      h("p.quiet", channelName(one.channel), " ", machine(one.subject), " · ", clock.ago(one.at)),
      h(
        "div.line",
        act("Refuse", () => api.answerAccess(one.code, { allow: false }), "Refused", refresh, { kind: "small stop" }),
        act("Let in", () => api.answerAccess(one.code, { allow: true }), "Let in", refresh)
      )
    );

  const refresh = coalesced(async () => {
    const [{ sessions: all }, { requests }, { arrived }] = await Promise.all([
      api.sessions({ limit: 200 }),
      api.people(),
      api.localInbox({ last: 200 })
    ]);
    sessions = all;
    const last = arrived.at(-1);
    redraw(
      inbox,
      last &&
        h(
          "a.row",
          { href: link("conversations", LOCAL), "data-key": LOCAL },
          h("div.who", h("span", channelName(LOCAL))),
          h("div.when", clock.ago(last.at)),
          h("div.what", "to ", machine(last.address), ": ", inline(last.text))
        )
    );
    redraw(asks, requests.length ? [h("h2.group", "Asks to be let in"), requests.map(drawRequest)] : null);
    redraw(
      nothing,
      sessions.length
        ? requests.length
          ? h("h2.group", "Conversations")
          : null
        : empty(
            "chat",
            "Nobody has spoken yet",
            h("p", "Where a channel receives, what people write to an agent appears here, and what it answers."),
            h(
              "p",
              "To begin: ",
              h("code", "gatepost local say"),
              ", or ",
              h("code", "receive = true"),
              " for one of the ",
              to("channels", "channels"),
              "."
            )
          )
    );
    patch(list, sessions, idOf, drawRow);
    view.note.textContent = sessions.length ? String(sessions.length) : "";
    view.listed([...sessions.map(idOf), ...(last ? [LOCAL] : [])]);
  }, 0);
  refresh();
  context.when(/^(turn|access|message\.sent|context)/, () => {
    refresh();
    show(view.chosen());
  });
  context.often(60, refresh);

  /** @param {string | null} id */
  async function show(id) {
    if (!id) return;
    if (id === LOCAL) {
      await tried(showInbox());
      return;
    }
    const slash = id.indexOf("/"),
      agent = id.slice(0, slash),
      session = id.slice(slash + 1),
      places = sessions.find((one) => idOf(one) === id)?.places ?? [];
    try {
      const { lines } = await api.transcript({ agent, session, limit: 200 }),
        now = JSON.stringify([lines, places]);
      if (view.chosen() !== id || now === drawn) return;
      drawn = now;
      redraw(
        view.shown,
        h(
          "div.sheet",
          head({ agent, does: "speaks in", title: inline(session), about: h("div.raw", places.map(where)) }),
          h(
            "section",
            { "aria-label": "What was said" },
            lines.length
              ? talk(lines.map((line) => ({ ...line, text: words(line.text) })))
              : h("p.quiet", "Nothing was said here that is still kept.")
          ),
          form(agent, session, places)
        )
      );
      view.shown.querySelector(".said-lines li:last-child")?.scrollIntoView({ block: "nearest" });
    } catch (error) {
      redraw(view.shown, empty("chat", "This conversation could not be read", h("p", reason(error))));
    }
  }

  async function showInbox() {
    const { arrived } = await api.localInbox({ last: 200 });
    if (view.chosen() !== LOCAL) return;
    const lines = arrived.map((one) => ({
      who: one.address,
      at: one.at,
      kind: "message",
      text: words(one.text),
      more: one.attachment && tag(one.attachment.name, "", "clip")
    }));
    redraw(
      view.shown,
      h(
        "div.sheet",
        h("header.asks", h("div", h("div.line", "What agents sent to the hub itself"), h("h1.target", channelName(LOCAL)))),
        h("section", { "aria-label": "What arrived" }, talk(lines))
      )
    );
  }

  /** An answer goes to the agent from the hub's own inbox; to people, only agents write. @param {string} agent @param {string} session @param {string[]} places */
  function form(agent, session, places) {
    const here = places.find((place) => place.startsWith("local:")),
      peer = here ? parted(here).address : "me";
    const text = h("textarea", {
      "data-key": "answer",
      rows: 2,
      "aria-label": `What to say to ${agent}`,
      placeholder: `Say something to ${agent}`
    });
    const send = async (/** @type {Event} */ event) => {
      event.preventDefault();
      if (
        !text.value.trim() ||
        !(await tried(api.sayToAgent({ agent, session, channel: "local", peer, sender: peer, text: text.value }), "Said"))
      )
        return;
      text.value = "";
      show(view.chosen());
    };
    return h(
      "form.answer",
      { onsubmit: send },
      text,
      h(
        "div.line",
        h("p.quiet", "It reaches the agent as yours, from the local inbox. People in other channels do not see it."),
        h("button.btn.go", { type: "submit" }, "Say it")
      )
    );
  }
  return view.go;
}
