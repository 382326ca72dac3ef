// The head of a request's card: who asks for what, to whom exactly, why it is held, and how long there is left.

import * as clock from "./clock.js";
import { copyable, h, icon, svg, tag } from "./dom.js";
import { head } from "./sheet.js";
import { channelName, inline, machine, words } from "./text.js";

/** @typedef {import("./types.js").Approval} Approval */
/** @typedef {import("./document.js").Document} Document */

/** @param {Approval} approval */
function ring(approval) {
  const whole = (Date.parse(approval.deadline) - Date.parse(approval.asked_at)) / 1000;
  const rest = svg("circle", { class: "rest", cx: 30, cy: 30, r: 26, pathLength: 100 }),
    label = svg("text", { x: 30, y: 31 });
  const picture = svg(
    "svg",
    { class: "ring", viewBox: "0 0 60 60", role: "img" },
    svg("circle", { class: "all", cx: 30, cy: 30, r: 26 }),
    rest,
    label
  );
  return h(
    "div.left",
    clock.every(picture, () => {
      const left = clock.until(approval.deadline),
        share = Math.max(0, Math.min(1, left / whole)) * 100;
      rest.setAttribute("stroke-dasharray", `${share.toFixed(1)} 100`);
      label.textContent = left ? clock.minutes(left) : "0:00";
      picture.setAttribute("aria-label", `${Math.floor(left / 60)} minutes ${Math.floor(left % 60)} seconds left`);
    }),
    "left"
  );
}

/** @type {Record<string, string>} */
const VERBS = {
  send: "asks to send a message to",
  broadcast: "asks to send a message to",
  reply: "asks to answer in",
  edit: "asks to change a message in",
  delete: "asks to delete a message in",
  react: "asks to react to a message in",
  poll: "asks to put a poll to",
  ask: "asks you"
};

/** @param {Approval} approval @param {Document} document */
export function heading(approval, document) {
  const open = approval.decided_at === null,
    question = approval.kind === "question";
  const where = (/** @type {import("./document.js").Target} */ of) =>
    h(
      "div.raw",
      h("span", `${channelName(of.channel)}, account `, machine(of.account)),
      h("span", "address ", machine(of.address)),
      of.thread ? h("span", "thread ", machine(of.thread)) : null,
      of.known_as ? tag("from your address book") : tag("not in your address book", "wait")
    );
  const name = (/** @type {import("./document.js").Target} */ of) => (of.known_as ? inline(of.known_as) : machine(of.address));
  return head({
    agent: document.agent,
    does: VERBS[document.action] ?? ["asks to ", inline(document.action), " at"],
    title: question ? "Yes or no?" : name(document),
    about: [
      question ? null : where(document),
      document.also.map((one) => h("div.also", h("b", "and ", name(one)), where(one))),
      h(
        "div.raw",
        document.reply_to ? h("span", "answers message ", machine(document.reply_to)) : null,
        document.options.map((option) => tag(option))
      )
    ],
    side: open && !approval.asks_at ? ring(approval) : null,
    why: h(
      "div.why",
      icon(question ? "ask" : document.origin ? "cross" : "lock"),
      h(
        "div",
        h(
          "p",
          document.origin
            ? [
                "The turn came from ",
                approval.origin_name ? [h("b", inline(approval.origin_name)), " "] : null,
                machine(document.origin),
                ". "
              ]
            : null,
          words(approval.why),
          open ? " No answer means no." : null
        ),
        approval.toml
          ? h("details", { "data-key": "rule" }, h("summary", icon("chev", "chev"), "What would change this rule"), copyable(approval.toml))
          : null
      )
    )
  });
}
