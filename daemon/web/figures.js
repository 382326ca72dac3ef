// The last 24 hours in numbers: what became of messages, how often people were asked, and how fast they went.

import { api } from "./api.js";
import * as clock from "./clock.js";
import { button, empty, facts, h, page, redraw } from "./dom.js";
import { bars, ceiling, lines } from "./plot.js";
import { coalesced, to } from "./hub.js";
import { count, num } from "./text.js";

/** @typedef {import("./types.js").Figures} Figures */
/** Half hours: five minutes are too thin to see. */
const FOLD = 6;

/** @param {number | null} ms */
const milliseconds = (ms) => (ms === null ? "none" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** @param {Figures} figures */
function halfHours({ buckets, from, step_s }) {
  return Array.from({ length: Math.ceil(buckets.length / FOLD) }, (_, at) => {
    const some = buckets.slice(at * FOLD, (at + 1) * FOLD),
      sum = (/** @type {"sent" | "denied" | "failed"} */ key) => some.reduce((all, one) => all + one[key], 0);
    const worst = (/** @type {"p50_ms" | "p95_ms"} */ key) => {
      const known = some.map((one) => one[key]).filter((value) => value !== null);
      return known.length ? known.reduce((all, one) => all + one, 0) / known.length : null;
    };
    return {
      at: new Date(Date.parse(from) + at * FOLD * step_s * 1000).toISOString(),
      sent: sum("sent"),
      denied: sum("denied"),
      failed: sum("failed"),
      p50: worst("p50_ms"),
      p95: worst("p95_ms")
    };
  });
}

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  let table = false;
  /** @type {Figures | null} */
  let figures = null;
  const body = h("div.grid"),
    swap = button(
      "As a table",
      () => {
        table = !table;
        draw();
      },
      { kind: "small", "data-key": "swap" }
    );
  page(root, "Figures", "The last 24 hours", swap, body);
  const refresh = coalesced(async () => {
    figures = await api.figures();
    if (!signal.aborted) draw();
  }, 0);
  refresh();
  when(/^message\./, coalesced(refresh, 10_000));
  often(60, refresh);

  function draw() {
    if (!figures) return;
    const { totals, asked, now, delivery } = figures,
      folded = halfHours(figures);
    swap.textContent = table ? "As pictures" : "As a table";
    if (!Object.values(totals).some(Boolean) && !now.held && !now.queued)
      return redraw(
        body,
        h(
          "section.tile.wide",
          empty(
            "chart",
            "Nothing was sent in 24 hours",
            h("p", "As soon as agents send, this shows what became of it, how often you were asked, and how fast it went."),
            h("p", to("agents", "Agents"))
          )
        )
      );
    redraw(
      body,
      sum("Arrived", totals.sent, totals.sent === 1 ? "message" : "messages", [
        ["denied", totals.denied],
        ["failed", totals.failed],
        ["outcome not known", totals.unknown]
      ]),
      sum("Asked you", asked.times, asked.times === 1 ? "time" : "times", [
        ["median answer", asked.median_s === null ? "none" : clock.minutes(asked.median_s)],
        ["expired unanswered", asked.expired]
      ]),
      sum("On the way", now.held, now.held === 1 ? "waits for you" : "wait for you", [
        ["queued", now.queued],
        ["oldest", now.oldest_s === null ? "none" : count(Math.max(1, Math.round(now.oldest_s / 60)), "min", "min")]
      ]),
      table ? asTable(folded) : [outcomes(figures, folded), speed(delivery, folded)]
    );
  }
  return () => {};
}

/** @param {string} title @param {number} number @param {string} unit @param {[string, string | number][]} more */
const sum = (title, number, unit, more) =>
  h("section.tile", h("h2.small", title), h("div.big", num(number), " ", h("small", unit)), facts(more));

/** @param {ReturnType<typeof halfHours>} folded */
const scale = (folded) =>
  h(
    "div.scale",
    { "aria-hidden": "true" },
    [0, 0.25, 0.5, 0.75].map((share) =>
      h("span", clock.clock(folded[Math.floor(share * folded.length)]?.at ?? "").replace("yesterday ", ""))
    ),
    h("span", "now")
  );
/** @param {number} most @param {string} unit */
const top = (most, unit) => h("div.top", { "aria-hidden": "true" }, `${ceiling(most).toLocaleString("en")} ${unit}`);

/** @param {Figures} figures @param {ReturnType<typeof halfHours>} folded */
function outcomes({ totals }, folded) {
  const key = (/** @type {string} */ name, /** @type {string} */ word) => h("span", h(`span.swatch.${name}`), word);
  return h(
    "section.tile.wide",
    h("header", h("h2", "What became of them"), h("div.legend", key("sent", "arrived"), key("denied", "denied"), key("failed", "failed"))),
    h(
      "div",
      top(Math.max(1, ...folded.map((one) => one.sent + one.denied + one.failed)), "in half an hour"),
      bars(
        `Outcomes in half hours: ${totals.sent} arrived, ${totals.denied} denied, ${totals.failed} failed`,
        folded.map(({ sent, denied, failed }) => ({ sent, denied, failed })),
        ["sent", "denied", "failed"]
      ),
      scale(folded)
    )
  );
}

/** @param {Figures["delivery"]} delivery @param {ReturnType<typeof halfHours>} folded */
function speed(delivery, folded) {
  const most = Math.max(1, ...folded.map((one) => one.p95 ?? 0));
  return h(
    "section.tile.wide",
    h(
      "header",
      h("h2", "From accepted to sent"),
      h(
        "div.legend",
        h("span", h("span.swatch.line"), `half are faster than this: ${milliseconds(delivery.p50_ms)}`),
        h("span", h("span.swatch.far"), `19 in 20: ${milliseconds(delivery.p95_ms)}`)
      )
    ),
    h(
      "div",
      top(most, "ms"),
      lines(`Median ${milliseconds(delivery.p50_ms)}, 95th percentile ${milliseconds(delivery.p95_ms)}, without what was held`, [
        { kind: "", values: folded.map((one) => one.p50) },
        { kind: "far", values: folded.map((one) => one.p95) }
      ]),
      scale(folded)
    )
  );
}

/** @param {ReturnType<typeof halfHours>} folded */
const asTable = (folded) =>
  h(
    "section.tile.wide",
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": "Half hours" },
      h(
        "table.numbers",
        h(
          "thead",
          h(
            "tr",
            ["From", "Arrived", "Denied", "Failed", "Half faster than", "19 in 20 faster than"].map((name) =>
              h("th", { scope: "col" }, name)
            )
          )
        ),
        h(
          "tbody",
          [...folded]
            .reverse()
            .map((one) =>
              h(
                "tr",
                h("th", { scope: "row" }, clock.clock(one.at)),
                h("td", String(one.sent)),
                h("td", String(one.denied)),
                h("td", String(one.failed)),
                h("td", milliseconds(one.p50)),
                h("td", milliseconds(one.p95))
              )
            )
        )
      )
    )
  );
