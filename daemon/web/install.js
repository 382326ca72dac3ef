// A board on a serial port of the hub's machine gets its firmware, its network and its hub, and is told how far it is.

import { api, installBoard } from "./api.js";
import { ask, button, empty, h, reason, redraw, say } from "./dom.js";
import { eventsOf } from "./live.js";
import { progress } from "./sheet.js";
import { boardName, inline } from "./text.js";

/** @type {Record<string, (step: import("./types.js").InstallStep) => import("./dom.js").Kids>} */
const WORDS = {
  board: ({ board = "" }) => `It is an ${boardName(board)}`,
  begins: ({ version = "" }) => `Firmware ${version} is written`,
  again: () => "Something was lost on the line; once more",
  verified: () => "Written, and verified by the chip",
  joining: () => "It joins the network, which may take a minute",
  joined: () => "It is in the network"
};

/** @param {HTMLElement} root @param {AbortSignal} signal @returns {Promise<boolean>} whether there is a board to pair now */
export async function install(root, signal) {
  const { ports, broker_unknown_because: why } = await api.boards();
  /** @param {string} id @param {string} label @param {import("./dom.js").Props} props @param {string} name */
  const field = (id, label, props, name = "") => h("label.field", { for: id }, label, h("input", { id, name, ...props }));
  const port = field("port", "Serial port", { list: "ports", value: ports[0], placeholder: "/dev/ttyACM0", required: true }),
    network = field("network", "Wireless network", { maxlength: 32, placeholder: "the one that it has already" }),
    password = field("password", "Its password", { type: "password", maxlength: 63, autocomplete: "off" });
  const written = (/** @type {HTMLElement} */ label) => /** @type {HTMLInputElement} */ (label.lastChild).value;
  const yes = await ask({
    title: "Install a board",
    text: [
      h("p", "An ESP32-C3 or ESP32-C6, plugged into the hub’s machine. It gets the newest firmware that the hub has."),
      why ? h("p.wrong", why) : null
    ],
    yes: "Install it",
    kind: "go",
    field: [
      port,
      h(
        "datalist",
        { id: "ports" },
        ports.map((value) => h("option", { value }))
      ),
      network,
      password
    ]
  });
  if (!yes) return false;
  const stop = new AbortController(),
    bar = progress("Firmware"),
    told = h("p", { role: "status" }, "Looking for the board");
  signal.addEventListener("abort", () => stop.abort());
  redraw(
    root,
    h("section.tile.pair", { "aria-label": "Install a board" }, empty("device", "Leave it plugged in", told, bar, button("Stop", () => stop.abort(), { kind: "small" })))
  );
  const order = { port: written(port), ...(written(network) ? { network: written(network), password: written(password) } : {}) };
  let done = false;
  try {
    for await (const { event, data } of eventsOf(await installBoard(order, stop.signal), () => {})) {
      const step = JSON.parse(data || "{}");
      if (event === "failed") throw new Error(step.error);
      done = event === "done";
      if (step.step === "written") bar.value = step.percent / 100;
      else if (WORDS[step.step]) redraw(told, inline(String(WORDS[step.step]?.(step))));
    }
    if (!done) throw new Error("The hub broke off. Install it again.");
  } catch (error) {
    if (!stop.signal.aborted) say(reason(error), "no");
    else say("Stopped. If the board was being written, install it again.");
  }
  redraw(root);
  return done;
}
