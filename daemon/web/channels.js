// Channels: which accounts are ready and why others are not, how one is set up, and a test message.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { ask, button, empty, facts, h, icon, redraw, tag, tile, tried } from "./dom.js";
import { render } from "./guide.js";
import { coalesced, link } from "./hub.js";
import { channelName, inline, words } from "./text.js";

/** @typedef {import("./types.js").Ready} Ready */
/** @type {Record<string, string>} */
const WAYS = { direct: "to the platform itself", gateway: "by a program in between", hybrid: "either way" };

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const page = h("div.page");
  root.append(page);
  const grid = h("div.grid"),
    guides = h("div.guides"),
    note = h("p");
  const check = button("Check now", () => look(true), { icon: "turn", "data-key": "check" });
  const overview = [h("header", h("div", h("h1", "Channels"), note), check), grid, h("section", h("h2.group", "Set one up"), guides)];
  let at = "";

  /** @param {boolean} [fresh] */
  async function look(fresh) {
    check.disabled = true;
    const answer = await tried(api.channels({ fresh }));
    check.disabled = false;
    if (!answer || signal.aborted) return;
    const { channels } = answer,
      ready = channels.filter((one) => one.ready).length;
    note.textContent = channels.length ? `${ready} of ${channels.length} ready` : "";
    redraw(
      grid,
      channels.length
        ? [...channels].sort((a, b) => Number(a.ready) - Number(b.ready)).map(drawAccount)
        : h(
            "section.tile.wide",
            empty(
              "plug",
              "No channel yet",
              h(
                "p",
                "Choose one below: its guide has the steps at the platform, where the secret goes, and what to write into the configuration."
              )
            )
          )
    );
  }
  const refresh = coalesced(() => look());
  when(/^configuration\./, refresh);
  often(60, refresh);
  api.guides().then(
    ({ guides: all }) =>
      redraw(
        guides,
        all.map((one) =>
          h(
            "a.choice-row",
            { href: link("channels", one.channel) },
            h("b", channelName(one.channel)),
            h("span", inline(one.account)),
            icon("chev")
          )
        )
      ),
    () => null
  );

  /** @param {Ready} one */
  function drawAccount(one) {
    return tile(
      channelName(one.channel),
      h(`span.dot${one.ready ? ".good" : ".bad"}`),
      [
        h("small", inline(one.account)),
        one.paused_until ? tag("paused", "wait") : one.ready ? tag("ready", "sent") : tag("not ready", "no")
      ],
      h(one.ready ? "p" : "p.wrong", words(one.said)),
      facts([
        ["Way", WAYS[one.mode] ?? one.mode],
        ["Receives", one.hearing && !one.hearing.ready ? words(one.hearing.standing) : one.receives ? "yes" : "no"],
        ["Limits", inline(one.limits)],
        ["Last sent", one.last_sent_at ? clock.ago(one.last_sent_at) : "not lately"],
        ["Its platform asked for a pause until", one.paused_until && clock.at(one.paused_until)]
      ]),
      h(
        "footer",
        one.ready ? button("Send a test message", () => test(one), { kind: "small" }) : null,
        h("a.btn.small", { href: link("channels", one.channel) }, one.ready ? "Guide" : "What to do")
      )
    );
  }

  /** @param {Ready} one */
  async function test({ channel, account }) {
    const to = h("input", { id: "to", spellcheck: "false", autocapitalize: "off", placeholder: "an address of yours there" });
    const yes = await ask({
      title: `A test message by ${channelName(channel)}`,
      yes: "Send it",
      kind: "go",
      text: h(
        "p",
        "It goes as the operator’s own: ",
        h("code", "[agents.shell]"),
        " has to allow the address, and it may be held like any other."
      ),
      field: h("label.field", { for: "to" }, "To", to)
    });
    if (!yes || !to.value.trim()) return;
    const sent = await tried(
      api.send({ channel, accountId: account, to: to.value.trim(), message: "A test from the hub: this channel works." })
    );
    if (sent) location.hash = link("messages", sent.id);
  }

  /** @param {string} kind */
  async function guide(kind) {
    redraw(
      page,
      h("header", h("div", h("a.up", { href: link("channels") }, icon("back"), "Channels"), h("h1", `Set up ${channelName(kind)}`)))
    );
    try {
      const { guide, account } = await api.guide(kind);
      if (signal.aborted || at !== kind) return;
      page.querySelector("header > div")?.append(h("p", inline(account)));
      page.append(h("section.tile.prose", render(guide)));
    } catch (error) {
      page.append(h("section.tile", empty("plug", "There is no such channel", h("p", /** @type {Error} */ (error).message))));
    }
  }

  return ({ arg }) => {
    at = arg;
    scrollTo(0, 0);
    if (arg) guide(arg);
    else {
      page.replaceChildren(...overview);
      look();
    }
  };
}
