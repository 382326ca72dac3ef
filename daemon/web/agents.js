// Agents and tokens: who may write where, what is held, and what the rules would say of a target.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { act, ask, button, copyable, empty, facts, h, icon, page, reason, redraw, tag, tile, tried } from "./dom.js";
import { face } from "./sheet.js";
import { coalesced, hub, link, whenApprovals } from "./hub.js";
import { count, inline, machine, words } from "./text.js";

/** @typedef {import("./types.js").AgentView} AgentView */
/** @type {Record<string, [string, string]>} */
const VERDICTS = { allow: ["It goes at once", "sent"], hold: ["A person is asked", "wait"], deny: ["It is refused", "no"] };
/** @type {Record<string, string>} */
const CROSS = { hold: "asks a person", allow: "goes at once", deny: "is refused" };
const ROLES = [
  ["agent", "Agent: sends its own messages"],
  ["bridge", "Bridge: reports what people wrote"],
  ["monitor", "Monitor: reads figures"],
  ["operator", "Operator: may do everything"]
];

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  const grid = h("div.grid"),
    others = h("div");
  page(
    root,
    "Agents",
    "Who may write where, and what is held",
    button("Make a token", () => make(), { icon: "key" }),
    grid,
    others
  );

  const refresh = coalesced(async () => {
    const { agents } = await api.agents();
    if (signal.aborted) return;
    const own = agents.filter((one) => one.role === "agent"),
      rest = agents.filter((one) => one.role !== "agent");
    redraw(
      grid,
      own.length
        ? own.map(drawAgent)
        : h(
            "section.tile.wide",
            empty(
              "agent",
              "No agent yet",
              h(
                "p",
                "An agent is a section of the configuration, and a token. Write the section, let the hub read it, then make the token here:"
              ),
              copyable('[agents.engineer]\nallow = ["local:*"]\nhold = ["email:*"]')
            )
          )
    );
    redraw(
      others,
      rest.length
        ? tile(
            "Other tokens",
            null,
            null,
            h(
              "ul.plain",
              rest.map((one) =>
                h(
                  "li",
                  h("b", inline(one.name)),
                  tag(one.role),
                  h("span.quiet", one.created_at ? ["made ", clock.ago(one.created_at)] : null),
                  button("Revoke", () => revoke(one), { kind: "small stop", "aria-label": `Revoke ${one.name}` })
                )
              )
            )
          )
        : null
    );
  }, 0);
  refresh();
  when(/^(token|agent|configuration)\./, refresh);
  whenApprovals(refresh, signal);
  often(60, refresh);

  /** @param {AgentView} one */
  function drawAgent(one) {
    const waits = [...(hub.approvals?.waiting ?? []), ...(hub.approvals?.later ?? [])].filter((row) => row.agent === one.name);
    const muted = one.muted_until && clock.until(one.muted_until) > 0;
    /** @param {string[]} all @param {string} none */
    const list = (all, none) => (all.length ? h("span.targets", all.map(machine)) : none);
    return tile(
      one.name,
      face(one.name),
      muted
        ? tag("muted", "wait", "mute")
        : !one.configured
          ? tag("not configured", "wait")
          : one.created_at
            ? null
            : tag("no token", "wait"),
      one.configured
        ? [
            facts([
              ["May write to", list(one.allow, "nobody")],
              ["Always held", list(one.hold, "nothing")],
              ["Leaving its conversation", CROSS[one.cross_context ?? ""]],
              ["Waits for you", waits[0] && h("a.link", { href: link("waiting", waits[0].request) }, count(waits.length, "card"))],
              ["Cards this hour", one.cards_per_hour ? `${one.cards} of ${one.cards_per_hour}` : String(one.cards)],
              ["Muted until", muted && clock.at(one.muted_until ?? "")]
            ]),
            trial(one)
          ]
        : h("p.quiet", "The configuration does not know it, so it may send nothing. Add ", h("code", `[agents.${one.name}]`), "."),
      h(
        "footer",
        muted
          ? act("End the mute", () => api.mute(one.name, { seconds: 0 }), "Not muted any more", refresh)
          : act(
              "Mute for an hour",
              () => api.mute(one.name, { seconds: 3600 }),
              "Muted for an hour: nobody is asked about its messages, which stay held",
              refresh
            ),
        one.created_at
          ? button("Revoke token", () => revoke(one), { kind: "small stop" })
          : button("Make a token", () => make(one.name), { kind: "small" })
      )
    );
  }

  /** @param {AgentView} one */
  function trial(one) {
    const field = h("input", {
        placeholder: "channel:address",
        spellcheck: "false",
        autocapitalize: "off",
        "aria-label": `A target to try for ${one.name}`,
        "data-key": `try-${one.name}`
      }),
      said = h("div", { role: "status" });
    /** @param {Event} event */
    const run = async (event) => {
      event.preventDefault();
      const to = field.value.trim();
      if (!to) return;
      try {
        const { verdict, reason, hint } = await api.tryTarget(one.name, { to }),
          [word, kind] = VERDICTS[verdict] ?? [verdict, ""];
        redraw(said, h("p.verdict", tag(word, kind), " ", words(reason), hint ? h("span.quiet", " ", words(hint)) : null));
      } catch (error) {
        redraw(said, h("p.verdict", tag("It is refused", "no"), " ", words(reason(error))));
      }
    };
    return h(
      "details",
      { "data-key": `trial-${one.name}` },
      h("summary", icon("chev", "chev"), "Try a target"),
      h("form.line", { onsubmit: run }, field, h("button.btn", { type: "submit" }, "Try")),
      said
    );
  }

  /** @param {AgentView} one */
  async function revoke(one) {
    const yes = await ask({
      title: `Revoke the token of ${one.name}?`,
      text: h("p", "Whoever has it is refused from now on. Messages that were accepted stay as they are."),
      yes: "Revoke it",
      typed: one.name
    });
    if (yes) await tried(api.revokeToken(one.name), "Revoked");
    refresh();
  }

  /** @param {string} [given] */
  async function make(given) {
    const name = h("input", {
      id: "name",
      maxlength: 40,
      pattern: "[A-Za-z0-9_\\-]+",
      spellcheck: "false",
      autocapitalize: "off",
      value: given ?? ""
    });
    const role = h(
      "select",
      { id: "role" },
      ROLES.map(([value, label]) => h("option", { value }, label))
    );
    const field = h(
      "div.fields",
      h("label.field", { for: "name" }, "Name, as in the configuration", name),
      given ? null : h("label.field", { for: "role" }, "What it may do", role)
    );
    if (!(await ask({ title: "Make a token", text: h("p", "It is shown once."), yes: "Make it", kind: "go", field })) || !name.value.trim())
      return;
    const made = await tried(api.addToken({ name: name.value.trim(), role: role.value }));
    refresh();
    if (!made) return;
    await ask({
      title: `The token of ${made.name}`,
      yes: "I have it",
      kind: "go",
      text: [
        h("p", "This is the one time that it is seen. The hub keeps a hash."),
        copyable(made.token),
        made.configured ? null : h("p", "The configuration has no agent of this name, so it may send nothing yet.")
      ]
    });
  }
  return () => {};
}
