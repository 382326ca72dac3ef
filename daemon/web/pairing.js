// Pairing: the hub waits for a device, both show six digits, and a person says whether they are the same. One attempt each time.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { button, empty, h, reason, redraw, say, svg } from "./dom.js";

/** @param {HTMLElement} root @param {AbortSignal} signal @returns {Promise<void>} when it is over, either way */
export async function pairing(root, signal) {
  const giveUp = new AbortController();
  signal.addEventListener("abort", () => {
    giveUp.abort();
    redraw(root);
  });
  const stop = button("Stop", () => giveUp.abort(), { kind: "small" });
  redraw(
    root,
    h(
      "section.tile.pair",
      { "aria-label": "Pairing" },
      empty(
        "device",
        "Waiting for a companion",
        h("p", "Switch it on. It says “not paired” and reaches the hub’s broker by itself. The hub waits for a minute."),
        stop
      )
    )
  );
  stop.focus();
  let offered;
  try {
    offered = await api.pair(giveUp.signal);
  } catch (error) {
    redraw(root);
    if (!giveUp.signal.aborted) say(reason(error), "no");
    return;
  }
  return new Promise((over) =>
    compare(root, offered, signal, () => {
      redraw(root);
      over();
    })
  );
}

/** @param {HTMLElement} root @param {import("./types.js").Offered} offered @param {AbortSignal} signal @param {() => void} over */
function compare(root, { code, expires_in_s, kind }, signal, over) {
  const began = Date.now(),
    bar = svg("rect", { height: 4, rx: 2, width: 100 });
  const name = h("input", { id: "companion", maxlength: 40, placeholder: "shelf", "data-key": "companion" });
  const digits = [...code],
    spoken = `${digits.slice(0, 3).join(" ")}, ${digits.slice(3).join(" ")}`;
  /** @param {boolean} same */
  const answer = async (same) => {
    try {
      const { companion } = await api.answerPairing(code, { same, ...(name.value.trim() ? { name: name.value.trim() } : {}) });
      say(`${companion.name} is paired`);
    } catch (error) {
      say(
        same ? reason(error) : "Nobody was paired. If you did not mistype, somebody stands between the hub and the device.",
        same ? "no" : ""
      );
    }
    over();
  };
  const no = button("It differs", () => answer(false), { kind: "stop" }),
    yes = button("It is the same", () => answer(true), { kind: "go" });
  const tile = h(
    "section.tile.pair",
    { "aria-label": "Pairing" },
    h("header", h("h2", { id: "same" }, kind === "software" ? "Is this the number in the terminal?" : "Is this the number on the device?")),
    h(
      "div.digits",
      { role: "img", "aria-label": spoken },
      digits.map((digit) => h("span", digit))
    ),
    h("p", "Hold Approve on the device if it shows the same. A different number means that somebody stands between."),
    h("div.bar", { "aria-hidden": "true" }, svg("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none" }, bar)),
    h("label.field", { for: "companion" }, "What people call it", name),
    h("footer", no, yes)
  );
  redraw(root, tile);
  name.focus();
  clock.every(tile, () => {
    const left = expires_in_s - (Date.now() - began) / 1000;
    bar.setAttribute("width", String(Math.max(0, (left / expires_in_s) * 100)));
    if (left > 0 || signal.aborted) return;
    say("The minute is over, and nobody was paired. Begin again.", "no");
    over();
  });
}
