// Updates: the hub's own program, releases of companions' firmware, and how far their roll-outs are.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { act, ask, button, copyable, empty, facts, h, icon, page, redraw, tag, tile, tried } from "./dom.js";
import { progress } from "./sheet.js";
import { coalesced } from "./hub.js";
import { boardName, inline, size, words } from "./text.js";

/** @typedef {import("./types.js").Updates} Updates */
/** How updates of the hub end; before that they are under way. @type {Record<string, string>} */
const ENDS = { installed: "sent", went_back: "no", refused: "no", failed: "no" };

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const body = h("div.grid");
  page(root, "Updates", "Only what is signed is installed, and what does not prove itself goes back", null, body);
  const refresh = coalesced(async () => {
    const updates = await api.updates();
    if (!signal.aborted)
      redraw(
        body,
        updates.warnings.map((text) => h("p.wrong.wide", words(text))),
        hubTile(updates),
        rollOuts(updates),
        releases(updates)
      );
  }, 0);
  refresh();
  when(/^(ota|update|device|hub)\./, refresh);
  often(10, refresh);

  /** @param {Updates} updates */
  function hubTile({ hub: { version, installed_as, update } }) {
    const kind = update && (ENDS[update.state] ?? "wait"),
      busy = kind === "wait";
    const by = { package: "apt, as a package", image: "a bundle, as an image" };
    return tile(
      "The hub",
      icon("gate"),
      update && tag(update.state.replace("_", " "), kind ?? ""),
      update && h(kind === "no" ? "p.wrong" : "p", words(update.text)),
      busy ? progress("The update of the hub", update?.percent === undefined ? undefined : update.percent / 100) : null,
      facts([
        ["Runs", version],
        ["Updated by", installed_as ? by[installed_as] : "hand"],
        ["Before", update?.from],
        ["To", update?.to],
        ["Since", update && clock.ago(update.since)]
      ]),
      installed_as && !busy ? h("footer", button("Update the hub", install, { kind: "small go", icon: "up" })) : null
    );
  }

  async function install() {
    const yes = await ask({
      title: "Update the hub?",
      text: [
        h(
          "p",
          "The newest version that is signed is installed, and the hub restarts. Nothing that was accepted is lost, and what waits for you waits on."
        ),
        h("p", "If the new one is not healthy, the one before comes back.")
      ],
      yes: "Update it",
      kind: "go"
    });
    if (yes) await tried(api.rollOutHub({}), "It is asked for");
    refresh();
  }

  /** @param {Updates} updates */
  function rollOuts({ roll_outs, companions }) {
    const paused = roll_outs.length > 0 && roll_outs.every((one) => one.paused);
    return tile(
      "Companions’ firmware",
      icon("device"),
      paused ? tag("paused", "wait") : null,
      roll_outs.length
        ? roll_outs.map((one) =>
            h(
              "div.roll",
              h("p", h("b", `${boardName(one.board)} to ${one.version}`), " · ", clock.ago(one.at)),
              progress(`${boardName(one.board)} to ${one.version}`, one.confirmed / Math.max(1, one.companions)),
              h("p.quiet", `${one.confirmed} of ${one.companions} have proved it · by `, inline(one.by.replace(/^operator:/, "")))
            )
          )
        : h("p.quiet", "Nothing is rolled out."),
      facts(companions.map((one) => [one.name, one.update?.text ?? one.firmware?.version ?? "not known yet"])),
      roll_outs.length
        ? h(
            "footer",
            act(
              paused ? "Go on" : "Pause",
              () => api.restRollOuts(paused ? "resume" : "pause"),
              paused ? "They go on" : "They rest",
              refresh
            )
          )
        : null
    );
  }

  /** @param {Updates} updates */
  function releases({ releases: all, root: trust }) {
    if (!all.length)
      return h(
        "section.tile.wide",
        empty(
          "up",
          "No release yet",
          h(
            "p",
            trust === null
              ? "This hub has no root, so it takes no release. Set the root’s file, and restart it:"
              : "A release is a signed file. Add it on the hub’s machine:"
          ),
          copyable(trust === null ? '[updates]\nroot = "root.1"' : "gatepost ota add esp32c3-0.3.0.gpu")
        )
      );
    return h(
      "section.tile.wide",
      h("header", h("h2", "Releases")),
      h(
        "div.scroll",
        { tabindex: "0", role: "region", "aria-label": "Releases" },
        h(
          "table.releases",
          h(
            "thead",
            h(
              "tr",
              ["Board", "Version", "Size", "Added", "Good until", "Roll-out"].map((name) => h("th", { scope: "col" }, name))
            )
          ),
          h(
            "tbody",
            all.map((one) =>
              h(
                "tr",
                h("th", { scope: "row" }, boardName(one.board)),
                h("td", one.version),
                h("td", size(one.size)),
                h("td", clock.ago(one.added_at)),
                h("td", clock.at(one.expires_at)),
                h(
                  "td.end-cell",
                  one.problem
                    ? tag(one.problem, "no")
                    : one.rolled_out
                      ? tag("rolled out", "sent")
                      : one.newest
                        ? button("Roll out", () => rollOut(one), {
                            kind: "small",
                            "aria-label": `Roll out ${one.version} for ${boardName(one.board)}`
                          })
                        : null
                )
              )
            )
          )
        )
      )
    );
  }

  /** @param {import("./types.js").ReleaseView} one */
  async function rollOut({ board, version }) {
    const yes = await ask({
      title: `Roll ${version} out?`,
      text: h(
        "p",
        `One ${boardName(board)} gets it first. The others follow when it has proved it, and never so many at once that too few could approve.`
      ),
      yes: "Roll it out",
      kind: "go"
    });
    if (yes) await tried(api.rollOut({ version, board }), "It is rolled out");
    refresh();
  }
  return () => {};
}
