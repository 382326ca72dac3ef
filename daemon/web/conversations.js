// Where agents speak with whom: what was said both ways, an answer to an agent, and who asks to be let in.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { button, empty, h, icon, patch, redraw, tag, tried } from "./dom.js";
import { coalesced, link, wide } from "./hub.js";
import { panes } from "./panes.js";
import { channelName, channelOf, inline, machine, parted, words } from "./text.js";

/** @typedef {import("./types.js").Session} Session */
/** @typedef {import("./types.js").AccessRequest} AccessRequest */

/** The agent's name has no slash; a session's may have anything. @param {{agent: string, session: string}} of */
const idOf = ({ agent, session }) => `${agent}/${session}`;

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const view = panes(root, { title: "Conversations", back: link("conversations"), label: "Conversations" });
  const asks = h("div"), list = h("div.talks"), nothing = h("div");
  view.body.append(asks, nothing, list);
  /** @type {Session[]} */
  let sessions = [];
  let at = /** @type {import("./hub.js").Route | null} */ (null), read = false, chosen = "", drawn = "";

  /** @param {Session} one */
  const drawRow = (one) => {
    const [first] = one.places;
    return h("a.row", { href: link("conversations", idOf(one)) }, h("div.who", null, h("span", null, inline(one.agent)), icon("chat"), h("span", null, inline(one.session))), h("div.when", null, clock.ago(one.last_at)),
      h("div.what", null, first ? [channelOf(first), " ", machine(parted(first).address)] : "no place yet", one.places.length > 1 ? ` and ${one.places.length - 1} more` : null));
  };

  /** @param {AccessRequest} one */
  const drawRequest = (one) => h("div.asking", null,
    h("p", null, h("b", null, one.name ? inline(one.name) : machine(one.subject)), one.what === "person" ? " wants to write to " : " has ", one.what === "person" ? h("b", null, inline(one.agent)) : ["written to ", h("b", null, inline(one.agent)), " from a conversation that no route names"], "."),
    h("p.quiet", null, channelName(one.channel), " ", machine(one.subject), " · ", clock.ago(one.at)),
    h("div.line", null, button("Refuse", () => answer(one, false), { kind: "small stop" }), button("Let in", () => answer(one, true), { kind: "small" })));
  /** @param {AccessRequest} one @param {boolean} allow */
  const answer = async (one, allow) => { await tried(api.answerAccess(one.code, allow), allow ? "Let in" : "Refused"); refresh(); };

  const refresh = coalesced(async () => {
    const [{ sessions: all }, { requests }] = await Promise.all([api.sessions(), api.people()]);
    if (signal.aborted) return;
    sessions = all;
    read = true;
    redraw(asks, requests.length ? [h("h2.group", null, "Asks to be let in"), requests.map(drawRequest)] : null);
    redraw(nothing, sessions.length ? (requests.length ? h("h2.group", null, "Conversations") : null) : empty("chat", "Nobody has spoken yet", h("p", null, "Where a channel receives, what people write to an agent appears here, and what it answers."),
      h("p", null, "To begin: ", h("code", null, "gatepost local say"), ", or ", h("code", null, "receive = true"), " for one of the ", h("a.link", { href: link("channels") }, "channels"), ".")));
    patch(list, sessions, idOf, drawRow);
    view.note.textContent = sessions.length ? String(sessions.length) : "";
    choose();
  }, 0);
  refresh();
  when(/^(turn|access|message\.sent|context)/, () => { refresh(); show(chosen); });
  often(60, refresh);

  function choose() {
    const first = sessions[0], id = at?.arg || (wide.matches && first ? chosen || idOf(first) : null);
    view.choose(id, !!at?.arg);
    if (!id) redraw(view.shown);
    else if (id !== chosen || !drawn) show(id);
  }
  wide.addEventListener("change", choose, { signal });

  /** @param {string} id */
  async function show(id) {
    if (!id) return;
    chosen = id;
    const slash = id.indexOf("/"), agent = id.slice(0, slash), session = id.slice(slash + 1);
    const known = sessions.find((one) => idOf(one) === id);
    try {
      const { lines } = await api.transcript(agent, session);
      if (signal.aborted || chosen !== id) return;
      const now = JSON.stringify([id, lines, known?.places]);
      if (now === drawn) return;
      drawn = now;
      redraw(view.shown, h("div.sheet", null, h("header.asks", null, h("div", null, h("div.line", null, h("span.face", { "aria-hidden": "true" }, (agent[0] ?? "?").toUpperCase()), h("b", null, inline(agent)), "speaks in"), h("h2.target", null, inline(session)),
        h("div.raw", null, (known?.places ?? []).map((place) => h("span", null, channelOf(place), " ", machine(parted(place).address)))))),
      h("section", { "aria-label": "What was said" }, lines.length ? h("ol.said-lines", null, lines.map((line) => h(`li${line.mine ? ".mine" : ""}`, null, h("div.by", null, h("b", null, inline(line.who)), " ", clock.at(line.at), line.kind === "message" ? null : [" ", tag(line.kind)]), h("div.words", null, words(line.text))))) : h("p.quiet", null, "Nothing was said here that is still kept.")),
      form(agent, session, known?.places ?? [])));
      view.shown.querySelector(".said-lines li:last-child")?.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (!signal.aborted) redraw(view.shown, empty("chat", /** @type {Error} */ (error).message, h("p", null, /** @type {api.Refused} */ (error).hint ?? "")));
    }
  }

  /** An answer goes to the agent from the hub's own inbox; to people, only agents write. @param {string} agent @param {string} session @param {string[]} places */
  function form(agent, session, places) {
    const here = places.find((place) => place.startsWith("local:")), peer = here ? parted(here).address : "me";
    const text = /** @type {HTMLTextAreaElement} */ (h("textarea", { "data-key": "answer", rows: 2, "aria-label": `What to say to ${agent}`, placeholder: `Say something to ${agent}` }));
    /** @param {Event} event */
    const send = async (event) => {
      event.preventDefault();
      if (!text.value.trim()) return;
      if (await tried(api.sayToAgent(agent, session, peer, text.value), "Said")) { text.value = ""; drawn = ""; show(chosen); }
    };
    return h("form.answer", { onsubmit: send }, text, h("div.line", null, h("p.quiet", null, "It reaches the agent as yours, from the local inbox. People in other channels do not see it."), h("button.btn.go", { type: "submit" }, "Say it")));
  }

  return (to) => {
    at = to;
    if (read) choose();
    else if (to.arg) { view.choose(to.arg, true); show(to.arg); }
  };
}
