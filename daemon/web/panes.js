// A list beside what is chosen in it; on a phone, one of the two. Rows are links: they can be opened in another tab, and the way
// back is the browser's own. Where there is room, the first is chosen until somebody chooses.

import { h, icon, redraw } from "./dom.js";
import { link, wide } from "./hub.js";

/** @typedef {import("./hub.js").Route} Route */

/**
 * @param {import("./hub.js").Context} context
 * @param {{screen: string, title: string, show: (id: string | null) => void}} of `show` draws what is chosen into `shown`
 */
export function panes({ root, signal }, { screen, title, show }) {
  const note = h("p"),
    body = h("div.rows"),
    tools = h("div.tools"),
    position = h("span"),
    shown = h("div.shown"),
    back = h("a", { href: link(screen) }, icon("back"), title);
  const list = h("aside.list", { "aria-label": title }, h("header", h("h1", title), note), tools, body);
  root.classList.add("two");
  root.append(list, h("article.card", h("div.back", back, position), shown));
  /** @type {string | null} */
  let chosen = null;
  /** @type {string[]} */
  let ids = [];
  let at = /** @type {Route | null} */ (null);

  list.addEventListener("keydown", (event) => {
    const rows = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("a.row"))],
      here = rows.findIndex((row) => row === document.activeElement);
    const next = rows[here + (event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : NaN)];
    if (here < 0 || !next) return;
    event.preventDefault();
    next.focus();
  });

  function choose() {
    if (!at) return;
    const id = at.arg || (wide.matches ? (chosen !== null && ids.includes(chosen) ? chosen : (ids[0] ?? null)) : null),
      changed = id !== chosen;
    root.dataset["view"] = at.arg ? "card" : "list";
    chosen = id;
    const row = id === null ? null : body.querySelector(`a.row[data-key="${CSS.escape(id)}"]`),
      before = body.querySelector("a.row[aria-current]");
    if (before !== row) before?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    if (!changed) return;
    redraw(shown);
    show(id);
    if (wide.matches || !at.arg) return;
    scrollTo(0, 0);
    back.focus({ preventScroll: true });
  }
  wide.addEventListener("change", choose, { signal });
  return {
    body,
    tools,
    note,
    shown,
    position,
    back,
    chosen: () => chosen,
    /** Says what the list has. @param {string[]} all */
    listed(all) {
      ids = all;
      choose();
    },
    /** @param {Route} to */
    go(to) {
      at = to;
      choose();
    }
  };
}
