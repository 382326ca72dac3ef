// A list beside what is chosen in it; on a phone, one of the two. Rows are links: they can be opened in another tab, and the way
// back is the browser's own.

import { h, icon } from "./dom.js";
import { wide } from "./hub.js";

/**
 * @param {HTMLElement} root
 * @param {{title: string, back: string, label: string}} names `back` is where the list is
 */
export function panes(root, { title, back, label }) {
  const note = h("p"), head = h("header", null, h("h1", null, title), note), body = h("div.rows"), tools = h("div.tools");
  const card = h("article.card"), position = h("span"), shown = h("div.shown");
  const list = h("aside.list", { "aria-label": label }, head, tools, body);
  card.append(h("div.back", null, h("a", { href: back }, icon("back"), title), position), shown);
  root.classList.add("two");
  root.append(list, card);

  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("a.row"))], at = rows.findIndex((row) => row === document.activeElement);
    const next = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  });

  /** @type {string | null} */
  let chosen = null;
  const mark = () => {
    for (const row of body.querySelectorAll("a.row")) {
      if (/** @type {HTMLElement} */ (row).dataset["key"] === chosen) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    }
  };
  return {
    list, body, tools, note, shown, position, mark,
    /** Whether a phone shows the card. @param {string | null} id @param {boolean} asked whether the address names it */
    choose(id, asked) {
      const changed = id !== chosen;
      chosen = id;
      root.dataset["view"] = asked ? "card" : "list";
      mark();
      if (!changed) return;
      if (asked && !wide.matches) {
        scrollTo(0, 0);
        /** @type {HTMLElement | null} */ (card.querySelector(".back a"))?.focus({ preventScroll: true });
      }
    },
  };
}

/** @param {string} title @param {...import("./dom.js").Kids} rows */
export const group = (title, ...rows) => h("section", null, h("h2.group", null, title), ...rows);
