// The page's frame: who is here, where one is, and whether what one sees is what is so.

import { api, Refused, whenSignedOut } from "./api.js";
import * as clock from "./clock.js";
import { h, icon, redraw, say } from "./dom.js";
import { ABOUT_APPROVALS, approvalsChanged, heard, hub, link, readApprovals, when, whenApprovals } from "./hub.js";
import { live } from "./live.js";
import { count } from "./text.js";

/** @typedef {import("./hub.js").Route} Route */

/** @type {([string, string, string] | null)[]} */
const SCREENS = [
  ["waiting", "Waiting", "hand"],
  ["messages", "Messages", "mail"],
  ["conversations", "Conversations", "chat"],
  ["turns", "Turns", "turn"],
  ["agents", "Agents", "agent"],
  ["channels", "Channels", "plug"],
  ["companions", "Companions", "device"],
  null,
  ["audit", "Audit", "chain"],
  ["figures", "Figures", "chart"],
  ["updates", "Updates", "up"],
  ["settings", "Settings", "gear"]
];
/** A phone's bar; the others are under More. */
const BAR = new Set(["waiting", "messages", "conversations", "companions"]);

/** @returns {Route} */
function route() {
  const [path = "", keys] = location.hash.replace(/^#\/?/, "").split("?");
  const [screen = "", arg = ""] = path.split("/");
  let plain = "";
  try {
    plain = decodeURIComponent(arg);
  } catch {
    /* A link that somebody has broken. */
  }
  return { screen: screen || "waiting", arg: plain, keys: new URLSearchParams(keys) };
}

// ---- the frame

const badge = h("span.count", { hidden: true });
const house = h("div.house", { role: "status", "aria-label": "The hub" });
const state = {
  channels: "",
  channelsGood: true,
  companions: "",
  companionsGood: true,
  live: /** @type {import("./live.js").State} */ ("away")
};

/** @param {[string, string, string]} screen */
const item = ([id, name, pictogram]) =>
  h(
    `a.item${BAR.has(id) ? "" : ".more-only"}`,
    { href: link(id), "data-screen": id },
    icon(pictogram),
    name,
    id === "waiting" ? badge : null
  );
const more = h("a.item.phone-only", { href: "#/more", "data-screen": "more" }, icon("more"), "More");
const nav = h(
  "nav.nav",
  { "aria-label": "Sections" },
  h("div.brand", icon("gate"), "Gatepost"),
  SCREENS.map((screen) => (screen ? item(screen) : h("div.rule"))),
  more,
  h("div.gap"),
  house
);
const main = h("main", { id: "main", tabindex: "-1" });

function drawHouse() {
  /** @param {boolean} good @param {string} text @param {string} [bad] */
  const line = (good, text, bad = "warn") => h("div", h(`span.dot.${good ? "good" : bad}`), text);
  const seen = {
    live: "live",
    polling: "every 5 s, for a proxy holds the stream back",
    away: "the hub does not answer",
    resting: "resting"
  }[state.live];
  redraw(
    house,
    state.channels ? line(state.channelsGood, state.channels) : null,
    state.companions ? line(state.companionsGood, state.companions) : null,
    line(state.live === "live", seen, state.live === "away" ? "bad" : "warn")
  );
  document.body.classList.toggle("away", state.live === "away");
}

async function lookAround() {
  const [channels, companions] = await Promise.allSettled([api.channels(), api.companions()]);
  if (channels.status === "fulfilled") {
    const all = channels.value.channels,
      ready = all.filter((one) => one.ready).length;
    state.channels = all.length ? `${ready} of ${count(all.length, "channel")} ready` : "no channel yet";
    state.channelsGood = ready === all.length && ready > 0;
  }
  if (companions.status === "fulfilled") {
    const all = companions.value.companions.filter((one) => !one.revoked_at),
      here = all.filter((one) => one.able);
    state.companions = !all.length
      ? "no companion yet"
      : here.length === 1
        ? `${here[0]?.name} is here`
        : here.length
          ? `${here.length} companions are here`
          : "no companion is here";
    state.companionsGood = here.length > 0;
  }
  drawHouse();
}

function drawCount() {
  const waiting = (hub.approvals?.waiting.length ?? 0) + (hub.approvals?.later.length ?? 0);
  badge.hidden = !waiting;
  badge.textContent = String(waiting);
  badge.setAttribute("aria-label", `${waiting} waiting`);
  drawTitle();
}

let title = "";
function drawTitle() {
  const waiting = hub.approvals?.waiting.length ?? 0;
  document.title = [waiting ? `${waiting} waiting` : "", title, "Gatepost"].filter(Boolean).join(" · ");
}

// ---- screens

/** @type {{name: string, go: (route: Route) => unknown, end: AbortController} | null} */
let open = null;

async function go() {
  const to = route(),
    known = SCREENS.find((screen) => screen?.[0] === to.screen);
  if (to.screen !== "more" && !known) {
    location.replace(link("waiting"));
    return;
  }
  for (const node of nav.querySelectorAll("[data-screen]")) {
    const screen = /** @type {HTMLElement} */ (node).dataset["screen"];
    const here = screen === to.screen || (screen === "more" && !BAR.has(to.screen));
    if (here) node.setAttribute("aria-current", "page");
    else node.removeAttribute("aria-current");
  }
  title = known?.[1] ?? "More";
  drawTitle();
  if (open?.name === to.screen) {
    open.go(to);
    return;
  }
  open?.end.abort();
  const end = new AbortController(),
    first = !open;
  open = { name: to.screen, go: () => {}, end };
  let screen;
  try {
    screen = to.screen === "more" ? moreScreen : /** @type {import("./hub.js").Screen} */ ((await import(`/web/${to.screen}.js`)).open);
  } catch {
    say("The hub does not answer, so this screen could not be read. Try again.", "no");
    if (open?.end === end) open = null;
    return;
  }
  if (end.signal.aborted) return;
  const root = h("div.screen");
  main.replaceChildren(root);
  main.dataset["view"] = "list";
  main.scrollTo(0, 0);
  scrollTo(0, 0);
  /** @param {number} seconds @param {() => unknown} then */
  const often = (seconds, then) => {
    const timer = setInterval(() => document.hidden || then(), seconds * 1000);
    end.signal.addEventListener("abort", () => clearInterval(timer));
  };
  open.go = screen({ root, signal: end.signal, when: (what, then) => when(what, then, end.signal), often });
  open.go(to);
  if (!first) main.focus({ preventScroll: true });
}

/** @param {import("./hub.js").Context} context */
function moreScreen({ root }) {
  const rest = SCREENS.filter((screen) => screen !== null && !BAR.has(screen[0])).map(
    (screen) => /** @type {[string, string, string]} */ (screen)
  );
  root.append(
    h(
      "div.page",
      h("header", h("h1", "More")),
      h(
        "div.more",
        rest.map(([id, name, pictogram]) => h("a.tile", { href: link(id) }, icon(pictogram), h("h2", name), icon("chev")))
      )
    )
  );
  return () => {};
}

// ---- from the first moment on

async function start() {
  const asked = Date.now();
  // A code is good once: it is taken out of the address before anything else is done with it.
  const code = /^#in=([\w-]{16,64})$/.exec(location.hash)?.[1];
  if (code) history.replaceState(null, "", "/");
  try {
    hub.login = code ? await api.signIn({ code }) : await api.login();
  } catch (error) {
    const refused = /** @type {Refused} */ (error);
    const { open: ask } = await import("./login.js");
    return ask(refused.status === 401 && !code ? null : refused, start);
  }
  clock.set(hub.login.now, asked);
  whenSignedOut(() => location.reload());
  document.body.querySelector(".door")?.remove();
  document.body.prepend(
    h(
      "a.skip",
      {
        href: "#main",
        onclick: (/** @type {Event} */ event) => {
          event.preventDefault();
          main.focus();
        }
      },
      "Skip to the content"
    ),
    nav,
    main
  );
  addEventListener("hashchange", go);
  const forever = new AbortController().signal;
  whenApprovals(drawCount, forever);
  when(ABOUT_APPROVALS, approvalsChanged, forever);
  when(/^device\.|^configuration\.|^pairing\./, lookAround, forever);
  drawHouse();
  live(hub.login.seq, heard, (now) => {
    if (now !== state.live) {
      state.live = now;
      drawHouse();
    }
  });
  setInterval(() => document.hidden || lookAround(), 30_000);
  await Promise.all([readApprovals().catch((error) => say(error.message, "no")), go(), lookAround()]);
}

start();
