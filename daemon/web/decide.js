// The card's foot: where it is decided, and, for a passkey, the two buttons with the device's rules. Approve is held for 1.5 s and
// armed only after the last part was seen; a press from before the card does not count; closing the page decides nothing.

import { api, Refused } from "./api.js";
import * as clock from "./clock.js";
import { ask, button, h, icon, say, tag, tried } from "./dom.js";
import { hex, sha256, statement, unbase64 } from "./document.js";
import { approvalsChanged, link, to } from "./hub.js";
import { missing, sign, unsigned } from "./passkey.js";
import { outcome } from "./state.js";
import { grouped, inline } from "./text.js";

/** @typedef {import("./types.js").Approval} Approval */
/** As on the device (`HOLD` in firmware/core). */
const HOLD = 1500;
const FRESH = 300;

/** @param {string} request @param {() => boolean} seen */
export function decision(request, seen) {
  const since = performance.now();
  let frame = 0,
    from = 0,
    busy = false;
  /** @type {HTMLButtonElement | null} */
  let go = null;
  /** @type {HTMLElement | null} */
  let hint = null;
  let credential = "";

  /** @param {Approval} approval @param {import("./card.js").Signed} signed @param {"approve" | "deny"} verdict */
  async function decide(approval, signed, verdict) {
    const chosen = credential || approval.web.passkeys[0]?.credential;
    if (busy || !signed.hash || !chosen) return;
    busy = true;
    let sent = false;
    try {
      const { nonce, hub_key, rp_id } = await api.decisionChallenge(request);
      const id = unbase64(chosen);
      const what = await statement({ hub: hub_key, credential: id, request, document: signed.hash, verdict, nonce: unbase64(nonce) });
      const assertion = await sign({ challenge: await sha256(what), rp_id, allow: [id] });
      sent = true;
      const { approvals, quorum, state } = await api.decide(request, { ...assertion, verdict, nonce, document: hex(signed.hash) });
      say(verdict === "deny" ? "Denied" : state === "held" ? `Approved, ${approvals} of ${quorum}` : "Approved");
    } catch (error) {
      // A browser may send again what got no answer: a refusal as decided, or as used, may be about this very decision.
      const unknown = sent && error instanceof Refused && (error.status === 0 || error.reason === "decided" || error.reason === "nonce");
      say(`${unsigned(error)} ${unknown ? "The card shows whether it was decided." : "Nothing was decided."}`, "no");
    }
    busy = false;
    approvalsChanged();
  }

  function stop() {
    cancelAnimationFrame(frame);
    from = frame = 0;
    go?.style.removeProperty("--held");
  }

  /** @param {() => void} then */
  function holding(then) {
    const step = () => {
      const held = performance.now() - from;
      go?.style.setProperty("--held", `${Math.min(100, (held / HOLD) * 100)}%`);
      if (held >= HOLD) {
        stop();
        then();
      } else frame = requestAnimationFrame(step);
    };
    const begin = (/** @type {Event} */ event) => {
      const key = event instanceof KeyboardEvent;
      if (key && event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      if ((key && event.repeat) || from || busy || performance.now() - since < FRESH) return;
      if (!seen()) {
        say("Read it to its end first.");
        return;
      }
      from = performance.now();
      frame = requestAnimationFrame(step);
    };
    return {
      onpointerdown: begin,
      onkeydown: begin,
      onpointerup: stop,
      onpointerleave: stop,
      onpointercancel: stop,
      onkeyup: stop,
      onblur: stop,
      oncontextmenu: (/** @type {Event} */ event) => event.preventDefault()
    };
  }

  /** @param {Approval} approval @param {import("./card.js").Signed} signed */
  function byKey(approval, signed) {
    const { passkeys } = approval.web;
    // While Approve is held, the other button only cancels that.
    const press = () => (frame ? stop() : performance.now() - since >= FRESH && decide(approval, signed, "deny"));
    const deny = button("Deny", press, { kind: "stop", "data-key": "deny" });
    go = /** @type {HTMLButtonElement} */ (
      h(
        "button.btn.go",
        { type: "button", "data-key": "approve", "aria-describedby": "hold", ...holding(() => decide(approval, signed, "approve")) },
        icon("key"),
        "Hold to approve"
      )
    );
    hint = h("small", { id: "hold" });
    const which =
      passkeys.length > 1
        ? h(
            "label.which",
            "with ",
            h(
              "select",
              {
                "data-key": "which",
                onchange: (/** @type {Event} */ event) => (credential = /** @type {HTMLSelectElement} */ (event.target).value)
              },
              passkeys.map((one) => h("option", { value: one.credential, selected: one.credential === credential }, one.name))
            )
          )
        : null;
    armed();
    const print = signed.hash ? grouped(hex(signed.hash), 16) : "";
    const signs = h("small", "Your passkey signs document ", h("span.mono", print), " and nothing else. ", which);
    return h("div.choice", deny, go, hint, deciders(approval), signs);
  }

  /** Who decides, where the rules do not leave it open. @param {Approval} approval */
  function deciders(approval) {
    const who = { any: "", companion: "A companion decides on this.", web: "A passkey decides on this.", both: "This takes a companion and a passkey." };
    const words = who[approval.decided_by ?? "any"];
    return words ? h("small", words) : null;
  }

  function armed() {
    if (!go || !hint) return;
    go.setAttribute("aria-disabled", String(!seen()));
    hint.textContent = seen() ? "Hold for a second and a half. Let go earlier, and nothing happens." : "Read it to its end, then hold.";
  }

  /** @param {Approval} approval */
  async function takeBack(approval) {
    const yes = await ask({
      title: "Take this message back?",
      text: h("p", "It is not sent, and its agent is told. This is no denial: nobody has decided."),
      yes: "Take it back"
    });
    if (yes && approval.message) await tried(api.cancelMessage(approval.message), "Taken back");
    approvalsChanged();
  }

  /** @param {Approval} approval */
  function onDevice(approval) {
    const able = approval.companions.filter((one) => one.online && !one.unable_because && !one.approved),
      names = able.map((one) => one.name);
    const back = approval.message ? button("Take it back", () => takeBack(approval), { kind: "stop", "data-key": "back" }) : null;
    const votes = approval.quorum > 1 ? tag(`${approval.by.length} of ${approval.quorum}`, "wait") : null;
    const others = h(
      "div.others",
      approval.companions.map((one) =>
        h(
          "span",
          h(`span.dot${one.online && !one.unable_because ? ".good" : ""}`),
          h(
            "span",
            inline(one.name),
            one.approved
              ? " has approved"
              : one.unable_because
                ? `: ${one.unable_because}`
                : one.online
                  ? one.has_text
                    ? " has the text"
                    : " is here"
                  : one.seen_at
                    ? [" away since ", clock.at(one.seen_at)]
                    : " away"
          )
        )
      )
    );
    if (approval.asks_at)
      return h(
        "div.device",
        h(
          "div",
          h("h2", "Nobody is asked yet"),
          h("p", inline(approval.agent), " has had its cards of this hour. The turn of this one comes at ", clock.at(approval.asks_at), ".")
        ),
        back
      );
    const screen =
      approval.screen &&
      h("div.oled", { "aria-hidden": "true" }, approval.screen.lines.slice(0, -1).join("\n"), h("i", approval.screen.lines.at(-1) ?? ""));
    return h(
      "div.device",
      able.length ? screen : null,
      h(
        "div",
        h("h2", able.length ? `Decide on ${names.join(" or ")}` : "Nobody can decide now", votes),
        h(
          "p",
          able.length
            ? "Read it to its last page there, then hold Approve, or press Deny."
            : ["It expires at ", clock.at(approval.deadline), " unless a companion comes. ", to("companions", "Companions")]
        ),
        others,
        deciders(approval)
      ),
      back
    );
  }

  /** @param {Approval} approval */
  function decided(approval) {
    const [word, kind] = outcome(approval.state),
      by = approval.by.map((who) => who.replace(/^(companion|web):/, "")),
      question = approval.kind === "question";
    const verdict =
      approval.state === "denied"
        ? "Denied"
        : approval.state === "expired"
          ? "Expired: nobody decided"
          : approval.state === "cancelled"
            ? "Taken back"
            : "Approved";
    return h(
      "div.device",
      h(
        "div",
        h(
          "h2",
          icon(approval.state === "denied" || approval.state === "expired" ? "cross" : "check"),
          verdict,
          by.length && verdict !== "Taken back" ? [" by ", inline(by.join(" and "))] : null,
          question ? null : tag(word, kind)
        ),
        h("p", clock.ago(approval.decided_at ?? approval.asked_at))
      ),
      approval.message ? h("a.btn", { href: link("messages", approval.message) }, "Its timeline") : null
    );
  }

  return {
    armed,
    /** @param {Approval} approval @param {import("./card.js").Signed} signed */
    draw(approval, signed) {
      go = hint = null;
      if (approval.decided_at !== null) return h("div.decide", decided(approval));
      const here = approval.web.may ? (missing() ?? (signed.hash ? null : "This browser computes no hashes at this address.")) : null;
      const byPasskey = approval.web.may && !approval.asks_at && !here && approval.web.passkeys.length > 0;
      const foot = byPasskey ? byKey(approval, signed) : onDevice(approval);
      const why =
        approval.web.may && !byPasskey && !approval.asks_at
          ? h("p.quiet", here ?? ["No passkey is added yet: ", to("settings", "Settings"), "."])
          : null;
      return h("div.decide", foot, why);
    },
    /** Whether a finger is on it, or the browser asks for the passkey. */
    held: () => busy || frame > 0,
    end: () => cancelAnimationFrame(frame)
  };
}
