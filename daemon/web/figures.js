// The last 24 hours in numbers: what became of messages, how often people were asked, and how fast they went.

import * as api from "./api.js";
import * as clock from "./clock.js";
import { button, empty, facts, h, redraw } from "./dom.js";
import { bars, ceiling, lines } from "./plot.js";
import { coalesced, link } from "./hub.js";
import { count } from "./text.js";

/** @typedef {import("./types.js").Figures} Figures */
/** Half hours: five minutes are too thin to see. */
const FOLD = 6;

/** @param {number | null} ms */
const milliseconds = (ms) => (ms === null ? "none" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** @param {Figures} figures */
function halfHours({ buckets, from, step_s }) {
  return Array.from({ length: Math.ceil(buckets.length / FOLD) }, (_, at) => {
    const some = buckets.slice(at * FOLD, (at + 1) * FOLD), sum = (/** @type {"sent" | "denied" | "failed"} */ key) => some.reduce((all, one) => all + one[key], 0);
    const worst = (/** @type {"p50_ms" | "p95_ms"} */ key) => { const known = some.map((one) => one[key]).filter((value) => value !== null); return known.length ? known.reduce((all, one) => all + one, 0) / known.length : null; };
    return { at: new Date(Date.parse(from) + at * FOLD * step_s * 1000).toISOString(), sent: sum("sent"), denied: sum("denied"), failed: sum("failed"), p50: worst("p50_ms"), p95: worst("p95_ms") };
  });
}

/** @type {import("./hub.js").Screen} */
export function open({ root, signal, when, often }) {
  let table = false;
  /** @type {Figures | null} */
  let figures = null;
  const body = h("div.grid"), swap = button("As a table", () => { table = !table; draw(); }, { kind: "small", "data-key": "swap" });
  root.append(h("div.page", null, h("header", null, h("div", null, h("h1", null, "Figures"), h("p", null, "The last 24 hours")), swap), body));
  const refresh = coalesced(async () => { figures = await api.figures(); if (!signal.aborted) draw(); }, 0);
  refresh();
  when(/^message\./, coalesced(refresh, 10_000));
  often(60, refresh);

  function draw() {
    if (!figures) return;
    const { totals, asked, now, delivery } = figures, folded = halfHours(figures);
    swap.textContent = table ? "As pictures" : "As a table";
    if (!Object.values(totals).some(Boolean) && !now.held && !now.queued) return redraw(body, h("section.tile.wide", null, empty("chart", "Nothing was sent in 24 hours", h("p", null, "As soon as agents send, this shows what became of it, how often you were asked, and how fast it went."), h("p", null, h("a.link", { href: link("agents") }, "Agents")))));
    redraw(body,
      h("section.tile", null, h("h3", null, "Arrived"), h("div.big", null, totals.sent.toLocaleString("en"), " ", h("small", null, totals.sent === 1 ? "message" : "messages")), facts([["denied", String(totals.denied)], ["failed", String(totals.failed)], ["outcome not known", String(totals.unknown)]])),
      h("section.tile", null, h("h3", null, "Asked you"), h("div.big", null, asked.times.toLocaleString("en"), " ", h("small", null, asked.times === 1 ? "time" : "times")), facts([["median answer", asked.median_s === null ? "none" : clock.minutes(asked.median_s)], ["expired unanswered", String(asked.expired)]])),
      h("section.tile", null, h("h3", null, "On the way"), h("div.big", null, now.held.toLocaleString("en"), " ", h("small", null, now.held === 1 ? "waits for you" : "wait for you")), facts([["queued", String(now.queued)], ["oldest", now.oldest_s === null ? "none" : count(Math.max(1, Math.round(now.oldest_s / 60)), "min", "min")]])),
      table ? asTable(folded) : [outcomes(figures, folded), speed(delivery, folded)]);
  }
  return () => {};
}

/** @param {ReturnType<typeof halfHours>} folded */
const scale = (folded) => h("div.scale", { "aria-hidden": "true" }, [0, 0.25, 0.5, 0.75].map((share) => h("span", null, clock.clock(folded[Math.floor(share * folded.length)]?.at ?? "").replace("yesterday ", ""))), h("span", null, "now"));
/** @param {number} most @param {string} unit */
const top = (most, unit) => h("div.top", { "aria-hidden": "true" }, `${ceiling(most).toLocaleString("en")} ${unit}`);

/** @param {Figures} figures @param {ReturnType<typeof halfHours>} folded */
function outcomes({ totals }, folded) {
  const key = (/** @type {string} */ name, /** @type {string} */ word) => h("span", null, h(`span.swatch.${name}`), word);
  return h("section.tile.wide", null, h("header", null, h("h2", null, "What became of them"), h("div.legend", null, key("sent", "arrived"), key("denied", "denied"), key("failed", "failed"))),
    h("div", null, top(Math.max(1, ...folded.map((one) => one.sent + one.denied + one.failed)), "in half an hour"), bars(`Outcomes in half hours: ${totals.sent} arrived, ${totals.denied} denied, ${totals.failed} failed`, folded.map(({ sent, denied, failed }) => ({ sent, denied, failed })), ["sent", "denied", "failed"]), scale(folded)));
}

/** @param {Figures["delivery"]} delivery @param {ReturnType<typeof halfHours>} folded */
function speed(delivery, folded) {
  const most = Math.max(1, ...folded.map((one) => one.p95 ?? 0));
  return h("section.tile.wide", null, h("header", null, h("h2", null, "From accepted to sent"), h("div.legend", null, h("span", null, h("span.swatch.line"), `half are faster than this: ${milliseconds(delivery.p50_ms)}`), h("span", null, h("span.swatch.far"), `19 in 20: ${milliseconds(delivery.p95_ms)}`))),
    h("div", null, top(most, "ms"), lines(`Median ${milliseconds(delivery.p50_ms)}, 95th percentile ${milliseconds(delivery.p95_ms)}, without what was held`, [{ kind: "", values: folded.map((one) => one.p50) }, { kind: "far", values: folded.map((one) => one.p95) }]), scale(folded)));
}

/** @param {ReturnType<typeof halfHours>} folded */
const asTable = (folded) => h("section.tile.wide", null, h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Half hours" }, h("table.numbers", null, h("thead", null, h("tr", null, ["From", "Arrived", "Denied", "Failed", "Half faster than", "19 in 20 faster than"].map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", null, [...folded].reverse().map((one) => h("tr", null, h("th", { scope: "row" }, clock.clock(one.at)), h("td", null, String(one.sent)), h("td", null, String(one.denied)), h("td", null, String(one.failed)), h("td", null, milliseconds(one.p50)), h("td", null, milliseconds(one.p95))))))));
