// Every message that there was: newest first, as far back as one scrolls, with filters that stand in the address.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { button, empty, h, icon, patch, redraw, tag } from "./dom.js";
import { coalesced, link, wide } from "./hub.js";
import { messageCard } from "./message.js";
import { panes } from "./panes.js";
import { outcome } from "./state.js";
import { channelName, inline, place } from "./text.js";

/** @typedef {import("./types.js").Summary} Summary */
const PAGE = 100;
/** @type {[string, string][]} */
const STATES = [["", "State"], ["held", "Waits for you"], ["accepted,ready,sending", "On its way"], ["sent", "Arrived"], ["failed,expired", "Failed or expired"], ["denied", "Denied"], ["cancelled", "Taken back"], ["unknown", "Not known"]];

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when }) {
  const view = panes(root, { title: "Messages", back: link("messages"), label: "Messages" });
  /** @type {Summary[]} */
  let rows = [];
  /** @type {string | null} */
  let next = null;
  let at = /** @type {import("./hub.js").Route | null} */ (null), filter = "", read = false;
  /** @type {ReturnType<typeof messageCard> | null} */
  let card = null;
  let asking = new AbortController();
  const list = h("div.many"), note = h("div"), end = h("div.end");
  view.body.append(note, list, end);

  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Text, address or id", "aria-label": "Search messages", oninput: () => { clearTimeout(typing); typing = setTimeout(set, 250); } }));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** @param {string} label @param {[string, string][]} choices */
  const select = (label, choices) => /** @type {HTMLSelectElement} */ (h("select", { "aria-label": label, onchange: set }, choices.map(([value, name]) => h("option", { value }, name))));
  const state = select("State", STATES), agent = select("Agent", [["", "Agent"]]), channel = select("Channel", [["", "Channel"]]);
  view.tools.append(h("div.search", null, icon("search"), search), h("div.filters", null, state, agent, channel));
  api.agents().then(({ agents }) => agent.append(...agents.filter((one) => one.role === "agent").map((one) => h("option", { value: one.name }, one.name))), () => null).then(fill);
  api.channels().then(({ channels }) => {
    channel.replaceChildren(h("option", { value: "" }, "Channel"), ...[...new Set(channels.map((one) => one.channel))].map((name) => h("option", { value: name }, channelName(name))));
    fill();
  }, () => null);

  /** The filters as they stand in the address. */
  const keys = () => Object.fromEntries([["state", state.value], ["agent", agent.value], ["channel", channel.value], ["q", search.value.trim()]].filter(([, value]) => value));
  function set() {
    const to = link("messages", at?.arg, keys());
    if (to !== location.hash) location.replace(to);
  }
  function fill() {
    const given = at?.keys ?? new URLSearchParams();
    for (const [field, key] of /** @type {[HTMLInputElement | HTMLSelectElement, string][]} */ ([[state, "state"], [agent, "agent"], [channel, "channel"], [search, "q"]])) {
      if (field !== document.activeElement) field.value = given.get(key) ?? "";
    }
  }

  /** @param {Summary} row */
  function drawRow(row) {
    const [word, kind] = outcome(row.state);
    return h("a.row", { href: link("messages", row.id, keys()) },
      h("div.who", null, h("span", null, inline(row.agent)), icon("arrow"), h("span", null, place(row))), h("div.when", null, clock.ago(row.accepted_at)),
      h("div.what", null, tag(word, kind), " ", row.files ? [tag(String(row.files), "", "clip"), " "] : null, inline(row.error && row.state === "failed" ? row.error : row.line)));
  }

  function draw() {
    patch(list, rows, (row) => row.id, drawRow, filter);
    const filtered = filter !== "";
    redraw(note, rows.length || !read ? null : filtered
      ? empty("search", "Nothing fits", h("p", null, "No message has all of this."), button("Show all", () => { search.value = state.value = agent.value = channel.value = ""; set(); }, { kind: "small" }))
      : empty("mail", "No message yet", h("p", null, "Agents hand messages in with their token, by MCP, HTTP or the shell."), h("p", null, "Make a token under ", h("a.link", { href: link("agents") }, "Agents"), ", then try it: ", h("code", null, "gatepost send"), ".")));
    view.note.textContent = rows.length ? `${rows.length.toLocaleString("en")}${next ? " shown" : ""}` : "";
    choose();
  }

  /** @param {string | null} [before] */
  async function more(before) {
    asking.abort();
    const mine = (asking = new AbortController());
    try {
      const answer = await api.messages({ ...Object.fromEntries(new URLSearchParams(filter)), before: before ?? null, limit: PAGE }, mine.signal);
      if (signal.aborted) return;
      rows = before ? [...rows, ...answer.messages] : answer.messages;
      next = answer.next;
      read = true;
      draw();
      look();
    } catch (error) {
      if (!mine.signal.aborted && !rows.length) redraw(note, empty("alert", /** @type {Error} */ (error).message, h("p", null, /** @type {api.Refused} */ (error).hint ?? "")));
    }
  }

  /** Reads the newest again, and keeps what was read before them. */
  const refresh = coalesced(async () => {
    const fresh = await api.messages({ ...Object.fromEntries(new URLSearchParams(filter)), limit: PAGE });
    const known = new Set(fresh.messages.map((row) => row.id)), last = fresh.messages.at(-1);
    const older = last && fresh.next ? rows.filter((row) => !known.has(row.id) && row.accepted_at <= last.accepted_at) : [];
    if (!older.length) next = fresh.next;
    rows = [...fresh.messages, ...older];
    read = true;
    draw();
  });
  when(/^(message|part|queue|decision)\./, () => { refresh(); card?.reload(); });

  let near = false;
  const look = () => near && next && !signal.aborted && more(next);
  const watcher = new IntersectionObserver(([entry]) => { near = !!entry?.isIntersecting; look(); }, /** @type {IntersectionObserverInit} */ ({ rootMargin: "900px", scrollMargin: "900px" }));
  watcher.observe(end);
  signal.addEventListener("abort", () => { watcher.disconnect(); asking.abort(); card?.end(); });

  function choose() {
    const id = at?.arg || (wide.matches ? card?.id ?? rows[0]?.id ?? null : null);
    view.choose(id, !!at?.arg);
    if (!id) { card?.end(); card = null; redraw(view.shown); return; }
    if (card?.id === id) return;
    card?.end();
    card = messageCard(view.shown, id, (whole) => {
      const row = rows.find((one) => one.id === whole.id);
      if (row && row.state !== whole.state) { row.state = whole.state; draw(); }
    });
  }
  wide.addEventListener("change", choose, { signal });

  return (to) => {
    at = to;
    const given = new URLSearchParams(to.keys).toString();
    if (given !== filter || !read) {
      if (given !== filter && !to.arg) { card?.end(); card = null; }
      filter = given;
      fill();
      list.replaceChildren();
      rows = [];
      read = false;
      more();
    }
    choose();
    for (const row of /** @type {Iterable<HTMLElement>} */ (list.children)) row.setAttribute("href", link("messages", row.dataset["key"], keys()));
  };
}
