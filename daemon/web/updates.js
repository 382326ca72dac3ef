// Updates: the hub's own program, releases of companions' firmware, and how far their roll-outs are.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { ask, button, copyable, empty, facts, h, icon, redraw, tag, tried } from "./dom.js";
import { coalesced } from "./hub.js";
import { count, inline, size, words } from "./text.js";

/** @typedef {import("./types.js").Updates} Updates */
/** @type {Record<string, [string, string]>} */
const HUB = { idle: ["", ""], asked: ["asked for", "wait"], installing: ["is installed", "wait"], restarting: ["restarts", "wait"], installed: ["installed", "sent"], went_back: ["went back", "no"], refused: ["refused", "no"] };
/** @param {string} board */
const boardName = (board) => board.toUpperCase().replace("ESP32", "ESP32-");

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const page = h("div.page", null, h("header", null, h("div", null, h("h1", null, "Updates"), h("p", null, "Only what is signed is installed, and what does not prove itself goes back")))), body = h("div.grid");
  page.append(body);
  root.append(page);
  const refresh = coalesced(async () => {
    const updates = await api.updates();
    if (!signal.aborted) redraw(body, updates.warnings.map((text) => h("p.wrong.wide", null, words(text))), hubTile(updates), rollOuts(updates), releases(updates));
  }, 0);
  refresh();
  when(/^(ota|update|device|hub)\./, refresh);
  often(10, refresh);

  /** @param {Updates} updates */
  function hubTile({ hub }) {
    const [word, kind] = HUB[hub.state] ?? [hub.state, ""], busy = ["asked", "installing", "restarting"].includes(hub.state);
    /** @type {[string, import("./dom.js").Kids][]} */
    const lines = [["Installed", hub.version], ["Newest signed", hub.newest ?? "this one"], ["Updated by", hub.installed_by === "apt" ? "apt, from the hub’s repository" : hub.installed_by === "rauc" ? "bundles of the image" : "hand: it was built here"]];
    for (const slot of hub.slots) lines.push([`Slot ${slot.name}`, `${slot.version}, ${slot.state}`]);
    return h("section.tile", null, h("header", null, icon("gate"), h("h2", null, "The hub"), word ? tag(word, kind) : hub.newest ? tag("update", "wait") : tag("up to date", "sent")),
      hub.text ? h(kind === "no" ? "p.wrong" : "p", null, words(hub.text)) : null, facts(lines), busy ? h("progress", { "aria-label": "The update of the hub" }) : null,
      hub.newest && hub.installed_by && !busy ? h("footer", null, button(`Install ${hub.newest}`, () => install(hub.newest ?? ""), { kind: "small go", icon: "up" })) : null);
  }

  /** @param {string} version */
  async function install(version) {
    const yes = await ask({ title: `Install ${version} on the hub?`, text: [h("p", null, "The hub restarts. Nothing that was accepted is lost, and what waits for you waits on."), h("p", null, "If the new one is not healthy, the one before comes back.")], yes: "Install it", kind: "go" });
    if (yes) await tried(api.rollOutHub(version), "It is asked for");
    refresh();
  }

  /** @param {Updates} updates */
  function rollOuts({ roll_outs, companions }) {
    const paused = roll_outs.length > 0 && roll_outs.every((one) => one.paused);
    return h("section.tile", null, h("header", null, icon("device"), h("h2", null, "Companions’ firmware"), paused ? tag("paused", "wait") : null),
      roll_outs.length ? roll_outs.map((one) => h("div.roll", null, h("p", null, h("b", null, `${boardName(one.board)} to ${one.version}`), " · ", clock.ago(one.at), " by ", inline(one.by.replace(/^operator:/, ""))),
        h("progress", { max: Math.max(1, one.companions), value: one.confirmed, "aria-label": `${one.board}: ${one.confirmed} of ${one.companions} have it` }), h("p.quiet", null, `${one.confirmed} of ${count(one.companions, "companion")} run it and have proved it`))) : h("p.quiet", null, "Nothing is rolled out."),
      companions.length ? facts(companions.map((one) => [one.name, one.update?.text ?? (one.firmware ? `${one.firmware.version}` : "not known yet")])) : null,
      roll_outs.length ? h("footer", null, button(paused ? "Go on" : "Pause", async () => { await tried(api.restRollOuts(paused ? "resume" : "pause"), paused ? "They go on" : "They rest"); refresh(); }, { kind: "small" })) : null);
  }

  /** @param {Updates} updates */
  function releases({ releases: all, root: trust }) {
    if (!all.length) return h("section.tile.wide", null, empty("up", "No release yet", h("p", null, trust === null ? "This hub has no root, so it takes no release. Set the root’s file, and restart it:" : "A release is a signed file. Add it on the hub’s machine:"), copyable(trust === null ? '[updates]\nroot = "root.1"' : "gatepost ota add esp32c3-0.3.0.gpu")));
    return h("section.tile.wide", null, h("header", null, h("h2", null, "Releases")), h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Releases" }, h("table", null,
      h("thead", null, h("tr", null, ["Board", "Version", "Size", "Added", "Good until", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, all.map((one) => h("tr", null, h("th", { scope: "row" }, boardName(one.board)), h("td", null, one.version), h("td", null, size(one.size)), h("td", null, clock.ago(one.added_at)), h("td", null, clock.at(one.expires_at)),
        h("td.end-cell", null, one.problem ? tag(one.problem, "no") : one.rolled_out ? tag("rolled out", "sent") : one.newest ? button("Roll out", () => rollOut(one), { kind: "small", "aria-label": `Roll out ${one.version} for ${boardName(one.board)}` }) : null)))))));
  }

  /** @param {import("./types.js").ReleaseView} one */
  async function rollOut({ board, version }) {
    const yes = await ask({ title: `Roll ${version} out?`, text: h("p", null, `One ${boardName(board)} gets it first. The others follow when it has proved it, and never so many at once that too few could approve.`), yes: "Roll it out", kind: "go" });
    if (yes) await tried(api.rollOut({ version, board }), "It is rolled out");
    refresh();
  }
  return () => {};
}
