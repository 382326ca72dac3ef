// Every message that there was: newest first, as far back as one scrolls, with filters that stand in the address.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { button, empty, h, icon, patch, redraw, tag } from "./dom.js";
import { coalesced, link, to } from "./hub.js";
import { messageCard } from "./message.js";
import { panes } from "./panes.js";
import { outcome } from "./state.js";
import { channelName, inline, num, place } from "./text.js";

/** @typedef {import("./types.js").Summary} Summary */
const PAGE = 100;
const STATES = [
  ["held", "Waits for you"],
  ["accepted,ready,sending", "On its way"],
  ["sent", "Arrived"],
  ["failed,expired", "Failed or expired"],
  ["denied", "Denied"],
  ["cancelled", "Taken back"],
  ["unknown", "Not known"]
];

/** @type {import("./hub.js").Screen} */
export function open(context) {
  const { signal, when } = context;
  /** As they were read, the newest first; each page is an element of its own, and what is not seen of them is not laid out. @type {Summary[][]} */
  let pages = [[]];
  /** @type {string | null} */
  let next = null;
  let at = /** @type {import("./hub.js").Route | null} */ (null),
    filter = "",
    read = false,
    asking = new AbortController(),
    asked = "";
  /** @type {ReturnType<typeof messageCard> | null} */
  let card = null;
  const view = panes(context, {
    screen: "messages",
    title: "Messages",
    show(id) {
      card?.end();
      card = id
        ? messageCard(view.shown, id, (whole) => {
            const which = pages.findIndex((rows) => rows.some((one) => one.id === whole.id)),
              row = pages[which]?.find((one) => one.id === whole.id);
            if (row && row.state !== whole.state) {
              row.state = whole.state;
              draw(which);
            }
          })
        : null;
    }
  });
  const list = h("div.many"),
    note = h("div"),
    end = h("div.end");
  view.body.append(note, list, end);

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  const search = h("input", {
    type: "search",
    placeholder: "Text, address or id",
    "aria-label": "Search messages",
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(set, 250);
    }
  });
  const select = (/** @type {string} */ label) => h("select", { "aria-label": label, onchange: set }, h("option", { value: "" }, label));
  /** @param {HTMLSelectElement} field @param {string[][]} choices */
  const offer = (field, choices) => {
    field.append(...choices.map(([value, name]) => h("option", { value }, name)));
    fill();
  };
  const state = select("State"),
    agent = select("Agent"),
    channel = select("Channel"),
    fields = { state, agent, channel, q: search };
  view.tools.append(h("div.search", icon("search"), search), h("div.filters", state, agent, channel));
  offer(state, STATES);
  api.agents().then(
    ({ agents }) =>
      offer(
        agent,
        agents.filter((one) => one.role === "agent").map((one) => [one.name, one.name])
      ),
    () => null
  );
  api.channels().then(
    ({ channels }) =>
      offer(
        channel,
        [...new Set(channels.map((one) => one.channel))].map((name) => [name, channelName(name)])
      ),
    () => null
  );

  const keys = () =>
    Object.fromEntries(
      Object.entries(fields)
        .map(([key, field]) => [key, field.value.trim()])
        .filter(([, value]) => value)
    );
  function set() {
    const to = link("messages", at?.arg, keys());
    if (to !== location.hash) location.replace(to);
  }
  function fill() {
    for (const [key, field] of Object.entries(fields)) if (field !== document.activeElement) field.value = at?.keys.get(key) ?? "";
  }

  /** @param {Summary} row */
  function drawRow(row) {
    const [word, kind] = outcome(row.state);
    return h(
      "a.row",
      { href: link("messages", row.id, keys()) },
      h("div.who", h("span", inline(row.agent)), icon("arrow"), h("span", place(row))),
      h("div.when", clock.ago(row.accepted_at)),
      h(
        "div.what",
        tag(word, kind),
        " ",
        row.files ? [tag(String(row.files), "", "clip"), " "] : null,
        inline(row.error && row.state === "failed" ? row.error : row.line)
      )
    );
  }

  /** @param {number} which page has changed */
  function draw(which) {
    while (list.children.length < pages.length) list.append(h("div.page-of-many"));
    while (list.children.length > pages.length) list.lastChild?.remove();
    const rows = pages.flat();
    patch(/** @type {Element} */ (list.children[which]), pages[which] ?? [], (row) => row.id, drawRow, filter);
    redraw(
      note,
      rows.length || !read
        ? null
        : filter
          ? empty(
              "search",
              "Nothing fits",
              h("p", "No message has all of this."),
              button(
                "Show all",
                () => {
                  for (const field of Object.values(fields)) field.value = "";
                  set();
                },
                { kind: "small" }
              )
            )
          : empty(
              "mail",
              "No message yet",
              h("p", "Agents hand messages in with their token, by MCP, HTTP or the shell."),
              h("p", "Make a token under ", to("agents", "Agents"), ", then try it: ", h("code", "gatepost send"), ".")
            )
    );
    view.note.textContent = rows.length ? `${num(rows.length)}${next ? " shown" : ""}` : "";
    view.listed(rows.map((row) => row.id));
  }

  /** @param {string} [before] */
  async function more(before) {
    asking.abort();
    const mine = (asking = new AbortController());
    asked = before ?? "";
    try {
      const answer = await api.messages({ ...Object.fromEntries(new URLSearchParams(filter)), before, limit: PAGE }, mine.signal);
      if (signal.aborted) return;
      if (before) pages.push(answer.messages);
      else pages = [answer.messages];
      next = answer.next;
      read = true;
      draw(pages.length - 1);
      look();
    } catch (error) {
      asked = "";
      if (!mine.signal.aborted && !pages.flat().length)
        redraw(note, empty("alert", "Messages could not be read", h("p", /** @type {Error} */ (error).message)));
    }
  }

  /** Reads the newest again, and keeps what was read before them. */
  const refresh = coalesced(async () => {
    const fresh = await api.messages({ ...Object.fromEntries(new URLSearchParams(filter)), limit: PAGE });
    const [first = [], ...rest] = pages,
      known = new Set(fresh.messages.map((row) => row.id)),
      last = fresh.messages.at(-1),
      later = new Set(rest.flat().map((row) => row.id));
    const older = last && fresh.next ? first.filter((row) => !known.has(row.id) && row.accepted_at <= last.accepted_at) : [];
    if (!rest.length && !older.length) next = fresh.next;
    pages[0] = [...fresh.messages.filter((row) => !later.has(row.id)), ...older];
    read = true;
    draw(0);
  });
  when(/^(message|part|queue|decision)\./, () => {
    refresh();
    card?.reload();
  });

  let near = false;
  const look = () => near && next && next !== asked && !signal.aborted && more(next);
  const watcher = new IntersectionObserver((entries) => {
    near = !!entries.at(-1)?.isIntersecting;
    look();
  }, /** @type {IntersectionObserverInit} */ ({ rootMargin: "900px", scrollMargin: "900px" }));
  watcher.observe(end);
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    asking.abort();
    card?.end();
  });

  return (to) => {
    at = to;
    const given = to.keys.toString();
    if (given !== filter || !read) {
      filter = given;
      fill();
      read = false;
      more();
    }
    view.back.setAttribute("href", link("messages", "", keys()));
    view.go(to);
  };
}
