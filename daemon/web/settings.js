// Settings: the configuration as it holds, read-only, for it has one owner: the file. And what belongs to this page: where one is
// signed in, and passkeys.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { ask, button, empty, h, icon, redraw, say, tag, tried } from "./dom.js";
import { coalesced, hub } from "./hub.js";
import { make, missing, unsigned } from "./passkey.js";
import { inline, machine } from "./text.js";

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const logins = h("div"), keys = h("div"), config = h("div.config"), file = h("p");
  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Find a key", "aria-label": "Find a key", oninput: () => draw() }));
  root.append(h("div.page", null, h("header", null, h("div", null, h("h1", null, "Settings"), h("p", null, `Gatepost ${hub.login?.version ?? ""}, signed in as ${hub.login?.name ?? ""}`)), button("Sign out", async () => { await tried(api.signOut()); location.reload(); }, { icon: "out" })),
    h("div.grid", null, logins, keys), h("section", null, h("header.sub", null, h("div", null, h("h2", null, "The configuration"), file), h("div.search", null, icon("search"), search)), config)));
  /** @type {import("./types.js").SettingsSection[]} */
  let sections = [];

  const refresh = coalesced(async () => {
    const [{ logins: all }, { passkeys }] = await Promise.all([api.logins(), api.passkeys()]);
    if (signal.aborted) return;
    redraw(logins, h("section.tile", null, h("header", null, icon("lock"), h("h2", null, "Where you are signed in")), h("ul.plain", null, all.map((one) => h("li", null,
      h("div", null, h("b", null, inline(one.browser)), one.this_one ? tag("this one", "sent") : null, h("p.quiet", null, "by ", one.way === "code" ? "a link" : one.way === "token" ? "the token" : "a passkey", ", from ", machine(one.from), ", seen ", clock.ago(one.seen_at))),
      one.this_one ? null : button("End", async () => { await tried(api.endLogin(one.login), "Ended"); refresh(); }, { kind: "small stop", "aria-label": `End the login of ${one.browser}` }))))));
    redraw(keys, passkeyTile(passkeys));
  }, 0);
  const read = coalesced(async () => {
    const answer = await api.settings();
    if (signal.aborted) return;
    sections = answer.sections;
    redraw(file, answer.file ? ["Read from ", machine(answer.file), ". Change it there, then ", h("code", null, "gatepost reload"), "."] : "This hub runs without a file.");
    draw();
  }, 0);
  refresh();
  read();
  when(/^(login|passkey)\./, refresh);
  when(/^configuration\./, read);
  often(60, refresh);

  /** @param {import("./types.js").Passkey[]} passkeys */
  function passkeyTile(passkeys) {
    const why = missing() ?? (hub.login?.passkeys.possible ? null : hub.login?.passkeys.because ?? null), decide = hub.login?.approvers.includes("web");
    return h("section.tile", null, h("header", null, icon("key"), h("h2", null, "Passkeys"), decide ? tag("may decide", "sent") : tag("sign in only")),
      passkeys.length ? h("ul.plain", null, passkeys.map((one) => h("li", null, h("div", null, h("b", null, inline(one.name)), h("p.quiet", null, "added ", clock.ago(one.added_at), one.used_at ? [", used ", clock.ago(one.used_at)] : ", not used yet")),
        button("Remove", async () => { if (await ask({ title: `Remove ${one.name}?`, text: h("p", null, "It signs nobody in any more, and decides nothing."), yes: "Remove it" })) { await tried(api.removePasskey(one.passkey), "Removed"); refresh(); } }, { kind: "small stop", "aria-label": `Remove ${one.name}` }))))
        : h("p.quiet", null, "A passkey signs you in without a link", decide ? ", and approves what waits." : ". It may also decide, if the configuration lets it: ", decide ? null : h("code", null, 'approvers = ["companion", "web"]')),
      h("footer", null, why ? h("p.quiet", null, why) : button("Add a passkey", add, { kind: "small", icon: "key" })));
  }

  async function add() {
    const name = /** @type {HTMLInputElement} */ (h("input", { id: "name", maxlength: 40, placeholder: "phone" })), token = /** @type {HTMLInputElement} */ (h("input", { id: "token", type: "password", autocomplete: "off" }));
    const yes = await ask({ title: "Add a passkey", yes: "Add it", kind: "go", text: h("p", null, "The operator’s token is asked for once more: who has only this page open adds none."), field: h("div.fields", null, h("label.field", { for: "name" }, "What you call it", name), h("label.field", { for: "token" }, "The operator’s token", token)) });
    const given = token.value.trim(), called = name.value.trim() || "passkey";
    token.value = "";
    if (!yes) return;
    try {
      const made = await make(await api.challenge("add"), called);
      await api.addPasskey({ ...made, token: given, name: called });
      say("Added");
    } catch (error) {
      say(error instanceof api.Refused ? `${error.message} ${error.hint}` : unsigned(error), "no");
    }
    refresh();
  }

  function draw() {
    const wanted = search.value.trim().toLowerCase();
    const found = sections.map((one) => ({ ...one, keys: one.keys.filter((key) => `${one.section}.${key.key} ${key.doc}`.toLowerCase().includes(wanted)) })).filter((one) => one.keys.length);
    redraw(config, found.length ? found.map((one) => h("section.tile", { "aria-label": one.section }, h("header", null, h("h3", null, h("code", null, `[${one.section}]`))), h("p.quiet", null, one.doc), h("dl.keys", null, one.keys.map(({ key, value, origin, line, doc }) => [
      h("dt", null, h("code", null, key)), h("dd", null, h("code.value", null, value), tag(origin === "default" ? "default" : origin === "file" ? `line ${line ?? "?"}` : "environment", origin === "default" ? "" : "sent"), h("p.quiet", null, doc))])))) : wanted ? empty("search", "No key of this name") : null);
  }
  return () => {};
}
