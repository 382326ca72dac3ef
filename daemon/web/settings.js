// Settings: the configuration as it holds, read-only, for it has one owner: the file. And what belongs to this page: where one is
// signed in, and passkeys.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { act, ask, button, empty, h, icon, page, redraw, say, tag, tile, tried } from "./dom.js";
import { coalesced, hub } from "./hub.js";
import { make, missing, unsigned } from "./passkey.js";
import { inline, machine } from "./text.js";

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const logins = h("div"),
    keys = h("div"),
    config = h("div.config"),
    file = h("p");
  const search = h("input", { type: "search", placeholder: "Find a key", "aria-label": "Find a key", oninput: () => draw() });
  page(
    root,
    "Settings",
    `Gatepost ${hub.login?.version ?? ""}, signed in as ${hub.login?.name ?? ""}`,
    button(
      "Sign out",
      async () => {
        if (await tried(api.signOut())) location.reload();
      },
      { icon: "out" }
    ),
    h("div.grid", logins, keys),
    h("section", h("header.sub", h("div", h("h2", "The configuration"), file), h("div.search", icon("search"), search)), config)
  );
  /** @type {import("./types.js").SettingsSection[]} */
  let sections = [];

  const refresh = coalesced(async () => {
    const [{ logins: all }, { passkeys }] = await Promise.all([api.logins(), api.passkeys()]);
    if (signal.aborted) return;
    redraw(
      logins,
      tile(
        "Where you are signed in",
        icon("lock"),
        null,
        h(
          "ul.plain",
          all.map((one) =>
            h(
              "li",
              h(
                "div",
                h("b", inline(one.browser)),
                one.this_one ? tag("this one", "sent") : null,
                h(
                  "p.quiet",
                  "by ",
                  one.way === "code" ? "a link" : one.way === "token" ? "the token" : "a passkey",
                  ", from ",
                  machine(one.from),
                  ", seen ",
                  clock.ago(one.seen_at)
                )
              ),
              one.this_one
                ? null
                : act("End", () => api.endLogin(one.login), "Ended", refresh, {
                    kind: "small stop",
                    "aria-label": `End the login of ${one.browser}`
                  })
            )
          )
        )
      )
    );
    redraw(keys, passkeyTile(passkeys));
  }, 0);
  const read = coalesced(async () => {
    const answer = await api.settings();
    if (signal.aborted) return;
    sections = answer.sections;
    redraw(
      file,
      answer.file
        ? ["Read from ", machine(answer.file), ". Change it there, then ", h("code", "gatepost reload"), "."]
        : "This hub runs without a file."
    );
    draw();
  }, 0);
  refresh();
  read();
  when(/^(login|passkey)\./, refresh);
  when(/^configuration\./, read);
  often(60, refresh);

  /** @param {import("./types.js").Passkey[]} passkeys */
  function passkeyTile(passkeys) {
    const why = missing() ?? (hub.login?.passkeys.possible ? null : (hub.login?.passkeys.because ?? null)),
      decide = hub.login?.approvers.includes("web");
    return tile(
      "Passkeys",
      icon("key"),
      decide ? tag("may decide", "sent") : tag("sign in only"),
      passkeys.length
        ? h(
            "ul.plain",
            passkeys.map((one) =>
              h(
                "li",
                h(
                  "div",
                  h("b", inline(one.name)),
                  h("p.quiet", "added ", clock.ago(one.added_at), one.used_at ? [", used ", clock.ago(one.used_at)] : ", not used yet")
                ),
                button(
                  "Remove",
                  async () => {
                    if (
                      await ask({
                        title: `Remove ${one.name}?`,
                        text: h("p", "It signs nobody in any more, and decides nothing."),
                        yes: "Remove it"
                      })
                    ) {
                      await tried(api.removePasskey(one.passkey), "Removed");
                      refresh();
                    }
                  },
                  { kind: "small stop", "aria-label": `Remove ${one.name}` }
                )
              )
            )
          )
        : h(
            "p.quiet",
            "A passkey signs you in without a link",
            decide ? ", and approves what waits." : ". It may also decide, if the configuration lets it: ",
            decide ? null : h("code", 'approvers = ["companion", "web"]')
          ),
      h("footer", why ? h("p.quiet", why) : button("Add a passkey", add, { kind: "small", icon: "key" }))
    );
  }

  async function add() {
    const name = h("input", { id: "name", maxlength: 40, placeholder: "phone" }),
      token = h("input", { id: "token", type: "password", autocomplete: "off" });
    const yes = await ask({
      title: "Add a passkey",
      yes: "Add it",
      kind: "go",
      text: h("p", "The operator’s token is asked for once more: who has only this page open adds none."),
      field: h(
        "div.fields",
        h("label.field", { for: "name" }, "What you call it", name),
        h("label.field", { for: "token" }, "The operator’s token", token)
      )
    });
    const given = token.value.trim(),
      called = name.value.trim() || "passkey";
    token.value = "";
    if (!yes) return;
    try {
      const made = await make(await api.challenge({ for: "add" }), called);
      await api.addPasskey({ ...made, token: given, name: called });
      say("Added");
    } catch (error) {
      say(unsigned(error), "no");
    }
    refresh();
  }

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const found = sections
      .map((one) => ({ ...one, keys: one.keys.filter((key) => `${one.section}.${key.key} ${key.doc}`.toLowerCase().includes(wanted)) }))
      .filter((one) => one.keys.length);
    redraw(
      config,
      found.length
        ? found.map((one) =>
            h(
              "section.tile",
              { "aria-label": one.section },
              h("header", h("h3", h("code", `[${one.section}]`))),
              h("p.quiet", one.doc),
              h(
                "dl.keys",
                one.keys.map(({ key, value, origin, line, doc }) => [
                  h("dt", h("code", key)),
                  h(
                    "dd",
                    h("code.value", value),
                    tag(
                      origin === "default" ? "default" : origin === "file" ? `line ${line ?? "?"}` : "environment",
                      origin === "default" ? "" : "sent"
                    ),
                    h("p.quiet", doc)
                  )
                ])
              )
            )
          )
        : wanted
          ? empty("search", "No key of this name")
          : null
    );
  }
  return () => {};
}
