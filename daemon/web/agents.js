// Agents and tokens: who may write where, what is held, and what the rules would say of a target.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { ask, button, copyable, empty, facts, h, icon, redraw, tag, tried } from "./dom.js";
import { coalesced } from "./hub.js";
import { inline, machine, words } from "./text.js";

/** @typedef {import("./types.js").AgentView} AgentView */
/** @type {Record<string, [string, string]>} */
const VERDICTS = { allow: ["It goes at once", "sent"], hold: ["A person is asked", "wait"], deny: ["It is refused", "no"] };
/** @type {Record<string, string>} */
const CROSS = { hold: "asks a person", allow: "goes at once", deny: "is refused" };
const ROLES = [["agent", "Agent: sends its own messages"], ["bridge", "Bridge: reports what people wrote"], ["monitor", "Monitor: reads figures"], ["operator", "Operator: may do everything"]];

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const grid = h("div.grid"), others = h("div"), note = h("p");
  root.append(h("div.page", null, h("header", null, h("div", null, h("h1", null, "Agents"), note), button("Make a token", () => make(), { icon: "key" })), grid, others));

  const refresh = coalesced(async () => {
    const { agents } = await api.agents();
    if (signal.aborted) return;
    const own = agents.filter((one) => one.role === "agent"), rest = agents.filter((one) => one.role !== "agent");
    note.textContent = own.length ? "Who may write where, and what is held" : "";
    redraw(grid, own.length ? own.map(tile) : h("section.tile.wide", null, empty("agent", "No agent yet", h("p", null, "An agent is a section of the configuration, and a token. Write the section, let the hub read it, then make the token here:"), copyable('[agents.engineer]\nallow = ["local:*"]\nhold = ["email:*"]'))));
    redraw(others, rest.length ? h("section.tile", null, h("header", null, h("h2", null, "Other tokens")), h("ul.plain", null, rest.map((one) => h("li", null, h("b", null, inline(one.name)), tag(one.role), h("span.quiet", null, one.created_at ? ["made ", clock.ago(one.created_at)] : null), button("Revoke", () => revoke(one), { kind: "small stop", "aria-label": `Revoke ${one.name}` }))))) : null);
  }, 0);
  refresh();
  when(/^(token|agent|configuration)\.|^message\.held/, refresh);
  often(60, refresh);

  /** @param {AgentView} one */
  function tile(one) {
    const muted = one.muted_until && clock.until(one.muted_until) > 0;
    /** @param {string[]} all @param {string} none */
    const list = (all, none) => (all.length ? h("span.targets", null, all.map(machine)) : none);
    return h("section.tile", { "aria-label": one.name }, h("header", null, h("span.face", { "aria-hidden": "true" }, (one.name[0] ?? "?").toUpperCase()), h("h2", null, inline(one.name)),
      muted ? tag("muted", "wait", "mute") : !one.configured ? tag("not configured", "wait") : one.created_at ? null : tag("no token", "wait")),
    one.configured ? facts([["May write to", list(one.allow, "nobody")], ["Always held", list(one.hold, "nothing")], ["Leaving its conversation", CROSS[one.cross_context ?? ""] ?? "asks a person"],
      ["Cards this hour", one.cards_per_hour ? `${one.cards} of ${one.cards_per_hour}` : String(one.cards)], ...(muted ? /** @type {[string, Node][]} */ ([["Muted until", clock.at(one.muted_until ?? "")]]) : [])]) : h("p.quiet", null, "The configuration does not know it, so it may send nothing. Add ", h("code", null, `[agents.${one.name}]`), "."),
    one.configured ? trial(one) : null,
    h("footer", null, muted ? button("End the mute", async () => { await tried(api.mute(one.name, 0), "Not muted any more"); refresh(); }, { kind: "small" }) : button("Mute for an hour", async () => { await tried(api.mute(one.name, 3600), "Muted for an hour: nobody is asked about its messages, which stay held"); refresh(); }, { kind: "small", icon: "mute" }),
      one.created_at ? button("Revoke token", () => revoke(one), { kind: "small stop" }) : button("Make a token", () => make(one.name), { kind: "small", icon: "key" })));
  }

  /** @param {AgentView} one */
  function trial(one) {
    const field = /** @type {HTMLInputElement} */ (h("input", { placeholder: "channel:address", spellcheck: "false", autocapitalize: "off", "aria-label": `A target to try for ${one.name}`, "data-key": `try-${one.name}` })), said = h("div", { role: "status" });
    /** @param {Event} event */
    const run = async (event) => {
      event.preventDefault();
      const to = field.value.trim();
      if (!to) return;
      try {
        const { verdict, reason, hint } = await api.tryTarget(one.name, { to }), [word, kind] = VERDICTS[verdict] ?? [verdict, ""];
        redraw(said, h("p.verdict", null, tag(word, kind), " ", words(reason), hint ? h("span.quiet", null, " ", words(hint)) : null));
      } catch (error) {
        redraw(said, h("p.verdict", null, tag("It is refused", "no"), " ", words(`${/** @type {Error} */ (error).message} ${/** @type {api.Refused} */ (error).hint ?? ""}`)));
      }
    };
    return h("details", { "data-key": `trial-${one.name}` }, h("summary", null, icon("chev", "chev"), "Try a target"), h("form.line", { onsubmit: run }, field, h("button.btn", { type: "submit" }, "Try")), said);
  }

  /** @param {AgentView} one */
  async function revoke(one) {
    const yes = await ask({ title: `Revoke the token of ${one.name}?`, text: h("p", null, "Whoever has it is refused from now on. Messages that were accepted stay as they are."), yes: "Revoke it", typed: one.name });
    if (yes) await tried(api.revokeToken(one.name), "Revoked");
    refresh();
  }

  /** @param {string} [given] */
  async function make(given) {
    const name = /** @type {HTMLInputElement} */ (h("input", { id: "name", maxlength: 40, pattern: "[A-Za-z0-9_\\-]+", spellcheck: "false", autocapitalize: "off", value: given ?? "" }));
    const role = /** @type {HTMLSelectElement} */ (h("select", { id: "role" }, ROLES.map(([value, label]) => h("option", { value }, label))));
    const field = h("div.fields", null, h("label.field", { for: "name" }, "Name, as in the configuration", name), given ? null : h("label.field", { for: "role" }, "What it may do", role));
    if (!(await ask({ title: "Make a token", text: h("p", null, "It is shown once."), yes: "Make it", kind: "go", field })) || !name.value.trim()) return;
    const made = await tried(api.addToken(name.value.trim(), role.value));
    refresh();
    if (!made) return;
    await ask({ title: `The token of ${made.name}`, yes: "I have it", kind: "go", text: [h("p", null, "This is the one time that it is seen. The hub keeps a hash."), copyable(made.token), made.configured ? null : h("p", null, "The configuration has no agent of this name, so it may send nothing yet.")] });
  }
  return () => {};
}
