// Companions: who may decide, whether they are here, and how another one is paired.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { ask, button, copyable, empty, facts, h, icon, page, redraw, say, tag, tile, tried } from "./dom.js";
import { progress } from "./sheet.js";
import { coalesced, hub, link, to } from "./hub.js";
import { install } from "./install.js";
import { pairing } from "./pairing.js";
import { boardName, count, inline, place } from "./text.js";

/** @typedef {import("./types.js").Companion} Companion */

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const grid = h("div.grid"),
    pair = h("div"),
    note = h("p.wrong", { hidden: true });
  const add = button("Add one", () => begin(), { icon: "device", kind: "go" });
  const board = button("Install a board", () => begin(install));
  page(root, "Companions", "What may decide, and how it decides", [board, add], note, pair, grid);
  /** @type {AbortController | null} */
  let running = null;

  const refresh = coalesced(async () => {
    const [{ companions, broker }, { releases }] = await Promise.all([api.companions(), api.updates()]);
    if (signal.aborted) return;
    note.hidden = broker.connected;
    redraw(note, "The hub does not reach its broker, so no companion can be asked. ", broker.reason);
    const here = companions.filter((one) => !one.revoked_at),
      gone = companions.filter((one) => one.revoked_at);
    redraw(
      grid,
      here.length ? here.map((one) => drawCompanion(one, releases)) : [nobody()],
      passkeyTile(),
      gone.length
        ? h(
            "details.wide.gone",
            { "data-key": "gone" },
            h("summary", icon("chev", "chev"), `${count(gone.length, "companion")} revoked`),
            h(
              "ul.plain",
              gone.map((one) => h("li", h("b", inline(one.name)), h("span.quiet", "revoked ", clock.ago(one.revoked_at ?? ""))))
            )
          )
        : null
    );
  }, 0);
  refresh();
  when(/^(device|ota|link|message|decision)\./, refresh);
  often(15, refresh);
  signal.addEventListener("abort", () => running?.abort());

  const nobody = () =>
    h(
      "section.tile.wide",
      empty(
        "device",
        "No companion yet",
        h(
          "p",
          "A companion is where you approve: a small device with a screen and two buttons, or a program in a terminal. For the terminal, on any computer of yours:"
        ),
        copyable("gatepost companion run"),
        h("p", "When it says that it is not paired, choose “Add one” here, and compare six digits.")
      )
    );

  function passkeyTile() {
    const web = hub.login?.approvers.includes("web");
    return tile(
      "Passkeys",
      icon("key"),
      web ? tag("may decide", "sent") : tag("may not decide", "wait"),
      web
        ? h("p", "A passkey of this page may approve and deny. They are under ", to("settings", "Settings"), ".")
        : h("p", "Passkeys decide only where the configuration says so: ", h("code", '[approval] approvers = ["companion", "web"]'))
    );
  }

  /** @param {Companion} one @param {import("./types.js").ReleaseView[]} releases */
  function drawCompanion(one, releases) {
    const board = one.firmware?.board,
      newer = releases.find(
        (release) => release.newest && release.board === board && release.version !== one.firmware?.version && !release.problem
      );
    const shows = one.shows && [...(hub.approvals?.waiting ?? [])].find((row) => row.request === one.shows);
    const verdict = one.decided === "approve" ? "approved" : "denied";
    const total = one.update?.of;
    return tile(
      one.name,
      h(`span.dot${one.able ? ".good" : one.online ? ".warn" : ""}`),
      one.able
        ? tag("here", "sent")
        : one.online
          ? tag("cannot ask", "wait")
          : h("span.tag", h("span", one.seen_at ? ["away since ", clock.at(one.seen_at)] : "away")),
      one.online && one.unable_because ? h("p.wrong", inline(one.unable_because)) : null,
      one.kind === "software" ? h("p.quiet", "Software: whoever can read its keys can approve.") : null,
      facts([
        [
          "Board",
          board ? `${boardName(board)}, firmware ${one.firmware?.version}` : one.kind === "software" ? "a program" : "not known yet"
        ],
        ["Last decision", one.decided_at ? [one.decided ? `${verdict}, ` : "", clock.ago(one.decided_at)] : "none yet"],
        ["Today", one.today.approved + one.today.denied && `${one.today.approved} approved, ${one.today.denied} denied`],
        ["Shows now", shows && h("a.link", { href: link("waiting", shows.request) }, inline(shows.agent), ", ", place(shows))],
        ["Update", one.update?.text]
      ]),
      total ? progress("Update", (one.update?.done ?? 0) / total) : null,
      h(
        "footer",
        button("Rename", () => rename(one), { kind: "small" }),
        newer && !one.update ? button(`Update to ${newer.version}`, () => update(one, newer), { kind: "small" }) : null,
        button("Revoke", () => revoke(one), { kind: "small stop" })
      )
    );
  }

  /** @param {Companion} one */
  async function rename(one) {
    const name = h("input", { id: "name", maxlength: 40, value: one.name });
    const yes = await ask({
      title: `Rename ${one.name}`,
      text: null,
      yes: "Rename it",
      kind: "go",
      field: h("label.field", { for: "name" }, "What people call it", name)
    });
    if (yes && name.value.trim() && name.value !== one.name)
      await tried(api.renameCompanion(one.name, { name: name.value.trim() }), "Renamed");
    refresh();
  }
  /** @param {Companion} one @param {import("./types.js").ReleaseView} release */
  async function update(one, { version, board }) {
    const yes = await ask({
      title: `Update ${one.name} to ${version}?`,
      text: h("p", "The companion asks at its buttons before it restarts. If the release does not prove itself, it goes back."),
      yes: "Roll it out",
      kind: "go"
    });
    if (yes) await tried(api.rollOut({ version, board, to: [one.name] }), "It is rolled out");
    refresh();
  }
  /** @param {Companion} one */
  async function revoke(one) {
    const yes = await ask({
      title: `Revoke ${one.name}?`,
      text: [
        h("p", "It loses its open card at once and decides nothing from now on. Its approvals of messages that still wait are taken back."),
        h("p", "There is no way back: its key is never taken again.")
      ],
      yes: "Revoke it",
      typed: one.name
    });
    const gone = yes ? await tried(api.revokeCompanion(one.name)) : null;
    if (gone)
      say(
        gone.left < gone.quorum
          ? `Revoked. ${count(gone.left, "companion")} left, and ${gone.quorum} must approve: nothing can be approved now.`
          : `Revoked. ${count(gone.left, "companion")} left.`,
        gone.left < gone.quorum ? "no" : ""
      );
    refresh();
  }

  /** @param {typeof install} [first] */
  async function begin(first) {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    add.disabled = board.disabled = true;
    if (!first || (await tried(first(pair, signal)))) await pairing(pair, signal);
    add.disabled = board.disabled = false;
    refresh();
  }
  return () => {};
}
