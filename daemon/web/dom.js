// Makes and redraws elements. There is no way from a string to markup: text becomes text nodes, with what is not seen spelled out, and
// Trusted Types refuse the rest.

import { spelled } from "./escape.js";

/** @typedef {Node | string | number | null | undefined | false} Kid */
/** @typedef {Kid | Kids[]} Kids */
/** @typedef {Record<string, unknown>} Props `on…` is a listener; true an empty attribute; false and null none */

/**
 * @template {string} S
 * @typedef {S extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[S] : S extends `${infer T}.${string}` ? (T extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[T] : HTMLElement) : HTMLElement} ElementOf
 */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} node @param {Props} props */
function dress(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Kids[]} kids @returns {(Node | string)[]} */
function nodes(kids) {
  return /** @type {any[]} */ (kids)
    .flat(Infinity)
    .flatMap((kid) => (kid === null || kid === undefined || kid === false ? [] : kid instanceof Node ? [kid] : spelled(String(kid))));
}

/**
 * An element: `h("a.row.done", {href}, …)`. The properties may be left out.
 * @template {string} S
 * @param {S} what its name, and its classes
 * @param {...(Props | Kids)} given
 * @returns {ElementOf<S>}
 */
export function h(what, ...given) {
  const [name = "", ...classes] = what.split("."),
    node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  const [first] = given;
  if (first && Object.getPrototypeOf(first) === Object.prototype) dress(node, /** @type {Props} */ (given.shift()));
  node.append(...nodes(/** @type {Kids[]} */ (given)));
  return /** @type {ElementOf<S>} */ (node);
}

/** @param {string} name @param {Props} props @param {...Kids} kids */
export function svg(name, props, ...kids) {
  const node = document.createElementNS(SVG, name);
  dress(node, props);
  node.append(...nodes(kids));
  return node;
}

/** An icon of icons.svg, for the eye alone. @param {string} name @param {string} [more] */
export const icon = (name, more = "") =>
  svg("svg", { class: `i ${more}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("use", { href: `/web/icons.svg#${name}` }));

/** @param {string} label @param {(event: Event) => unknown} onclick @param {Props & {kind?: string, icon?: string}} [more] */
export function button(label, onclick, { kind = "", icon: pictogram, ...props } = {}) {
  return h(
    /** @type {"button.btn"} */ (`button.btn${kind ? "." + kind.replaceAll(" ", ".") : ""}`),
    { type: "button", onclick, ...props },
    pictogram ? icon(pictogram) : null,
    label
  );
}

/** @param {string} label @param {string} [kind] `sent`, `no`, `wait` @param {string} [pictogram] */
export const tag = (label, kind = "", pictogram) => h(`span.tag${kind ? "." + kind : ""}`, pictogram ? icon(pictogram) : null, label);

/** Pairs of a term and what it is; without what is not. @param {[string, Kids][]} pairs @param {string} [name] */
export const facts = (pairs, name = "facts") =>
  h(
    `dl.${name}`,
    pairs.filter(([, value]) => value || value === 0).map(([term, value]) => [h("dt", term), h("dd", value)])
  );

/**
 * Draws anew what is in `root`, and leaves as they were: where one has scrolled to, what has the focus, what is unfolded, what is
 * written in a field. Elements are known again by `data-key`.
 * @param {Element} root @param {...Kids} kids
 */
export function redraw(root, ...kids) {
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && root.contains(focused) ? focused.dataset["key"] : undefined;
  const open = new Map(
    [...root.querySelectorAll("details[data-key]")].map((node) => [
      /** @type {HTMLElement} */ (node).dataset["key"],
      /** @type {HTMLDetailsElement} */ (node).open
    ])
  );
  const written = new Map(
    [...root.querySelectorAll(":is(input, textarea)[data-key]")].map((node) => [
      /** @type {HTMLElement} */ (node).dataset["key"],
      /** @type {HTMLInputElement} */ (node).value
    ])
  );
  root.replaceChildren(...nodes(kids));
  for (const node of root.querySelectorAll("[data-key]")) {
    const name = /** @type {HTMLElement} */ (node).dataset["key"];
    if (node instanceof HTMLDetailsElement && open.has(name)) node.open = !!open.get(name);
    if ((node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement) && written.has(name))
      node.value = written.get(name) ?? "";
    if (key !== undefined && name === key) /** @type {HTMLElement} */ (node).focus({ preventScroll: true });
  }
}

/**
 * A list that is patched: what has not changed keeps its element, so that nothing jumps under a finger or a screen reader.
 * @template T
 * @param {Element} root
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => HTMLElement} make
 * @param {unknown} [rest] what else its looks depend on
 */
export function patch(root, items, key, make, rest = null) {
  /** @type {Map<string, HTMLElement>} */
  const old = new Map();
  for (const node of /** @type {Iterable<HTMLElement>} */ (root.children)) old.set(node.dataset["key"] ?? "", node);
  let place = root.firstElementChild;
  for (const item of items) {
    const name = key(item),
      looks = JSON.stringify([item, rest]);
    let node = old.get(name);
    old.delete(name);
    if (!node || looksOf.get(node) !== looks) {
      const fresh = make(item);
      fresh.dataset["key"] = name;
      looksOf.set(fresh, looks);
      if (node) {
        const focused = node === document.activeElement;
        if (place === node) place = fresh;
        node.replaceWith(fresh);
        if (focused) fresh.focus({ preventScroll: true });
      }
      node = fresh;
    }
    if (node === place) place = node.nextElementSibling;
    else root.insertBefore(node, place);
  }
  for (const node of old.values()) node.remove();
}
/** @type {WeakMap<HTMLElement, string>} */
const looksOf = new WeakMap();

/** A tile with its heading. @param {string} title @param {Kids} before an icon @param {Kids} after a tag @param {...Kids} kids */
export const tile = (title, before, after, ...kids) =>
  h("section.tile", { "aria-label": title }, h("header", before, h("h2", title), after), ...kids);

/** A screen of one column. @param {Element} root @param {string} title @param {Kids} note @param {Kids} buttons @param {...Kids} kids */
export const page = (root, title, note, buttons, ...kids) =>
  root.append(h("div.page", h("header", h("div", h("h1", title), h("p", note)), h("div.line", buttons)), ...kids));

/** What an empty screen says: what is so, and what to do. @param {string} pictogram @param {string} title @param {...Kids} kids */
export const empty = (pictogram, title, ...kids) => h("div.empty", icon(pictogram), h("h2", title), ...kids);

/** A text to copy, with the button that does it. @param {string} text @param {string} [label] */
export function copyable(text, label = "Copy") {
  const done = () =>
    navigator.clipboard.writeText(text).then(
      () => say("Copied"),
      () => say("This browser does not let the page copy. Select the text.", "no")
    );
  return h("div.copy", h("pre", { tabindex: "0" }, text), button(label, done, { kind: "small" }));
}

/** Says something for a moment, aloud too. @param {string} text @param {"" | "no"} [kind] */
export function say(text, kind = "") {
  const room = document.getElementById("said");
  const line = h(`div.said${kind ? "." + kind : ""}`, text);
  room?.append(line);
  setTimeout(() => line.remove(), kind ? 9000 : 4500);
}

/** What went wrong and what to do, in a line. @param {unknown} error */
export const reason = (error) =>
  [/** @type {Error} */ (error).message, /** @type {{hint?: string}} */ (error).hint].filter(Boolean).join(" ");

/** Runs a call, and says what was refused. @template T @param {Promise<T>} call @param {string} [done] @returns {Promise<T | null>} */
export async function tried(call, done) {
  try {
    const answer = await call;
    if (done) say(done);
    return answer;
  } catch (error) {
    say(reason(error), "no");
    return null;
  }
}

/** A small button for a call, and what is read again after it. @param {string} label @param {() => Promise<unknown>} call @param {string} done @param {() => unknown} then @param {Props & {kind?: string, icon?: string}} [more] */
export const act = (label, call, done, then, more) =>
  button(label, () => tried(call(), done).then(then), { kind: "small", "data-key": label, ...more });

/**
 * Asks before something that cannot be undone; with `typed`, that word has to be written.
 * @param {{title: string, text: Kids, yes: string, typed?: string, kind?: string, field?: Kids}} what
 * @returns {Promise<boolean>}
 */
export function ask({ title, text, yes, typed, kind = "stop", field }) {
  const word = h("input", {
    autocomplete: "off",
    spellcheck: "false",
    id: "typed",
    oninput: () => {
      go.disabled = word.value !== typed;
    }
  });
  const go = button(yes, () => null, { kind, type: "submit", disabled: !!typed });
  /** @type {HTMLDialogElement} */
  const dialog = h(
    "dialog",
    { "aria-labelledby": "asks" },
    h(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          dialog.close("yes");
        }
      },
      h("h2", { id: "asks" }, title),
      h("div.body", text, field ?? null, typed ? h("label.field", h("span", "Type ", h("code", typed), " to go on"), word) : null),
      h(
        "footer",
        button("Leave it", () => dialog.close()),
        go
      )
    )
  );
  document.body.append(dialog);
  dialog.showModal();
  // Whoever goes elsewhere has not said yes.
  addEventListener("hashchange", () => dialog.close(), { once: true });
  return new Promise((answer) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue === "yes");
    })
  );
}
