// What happens at the hub, as it happens. Every event has a number; whatever breaks, the page goes on after the last one that it has
// seen, so that nothing is skipped and nothing comes twice.
//
// It reads the stream by fetch and not by EventSource: that tells no status, and knows only events whose names are listed.
// If streams do not get through (a proxy that gathers answers), the same rows are read from the audit every five seconds.

import { api, events, Refused } from "./api.js";

/** Without a sign of life for so long, a stream is dead: the hub gives one every 10 s. */
const SILENCE = 25_000;
/** A hidden page gives its connection back: a browser has six for a host. */
const HIDDEN = 30_000;
const POLL = 5_000;

/** @typedef {"live" | "polling" | "away" | "resting"} State */

/** Splits a stream into events. @param {Response} response @param {() => void} alive @returns {AsyncGenerator<{id: string, event: string, data: string}>} */
export async function* eventsOf(response, alive) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(),
    decoder = new TextDecoder();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    rest += decoder.decode(value, { stream: true });
    for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
      const one = { id: "", event: "message", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        const colon = line.indexOf(":"),
          field = line.slice(0, colon),
          text = line.slice(colon + 1).replace(/^ /, "");
        if (field === "data") one.data += one.data ? "\n" + text : text;
        else if (field === "id" || field === "event") one[field] = text;
      }
      yield one;
    }
  }
}

/**
 * @param {number} seq the last event that is known
 * @param {(event: string, about: string | null) => void} heard
 * @param {(state: State) => void} turned
 */
export function live(seq, heard, turned) {
  let failures = 0,
    stopped = false;
  /** @type {AbortController | null} */
  let open = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let resting;
  /** @type {() => void} */
  let wake = () => {};
  /** @param {number} ms */
  const pause = (ms) =>
    new Promise((done) => {
      const timer = setTimeout(done, ms, null);
      wake = () => {
        clearTimeout(timer);
        done(null);
      };
    });

  async function stream() {
    const control = (open = new AbortController());
    const give_up = () => control.abort();
    let watchdog = setTimeout(give_up, SILENCE);
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(give_up, SILENCE);
    };
    try {
      const response = await events(seq, control.signal);
      for await (const { id, event, data } of eventsOf(response, alive)) {
        failures = 0;
        turned("live");
        const number = Number(id);
        if (data && (number > seq || event === "missed")) heard(event, JSON.parse(data).id ?? null);
        if (id) seq = event === "missed" ? number : Math.max(seq, number);
      }
    } finally {
      clearTimeout(watchdog);
      open = null;
    }
  }

  async function poll() {
    const { rows, newest } = await api.audit({ after: seq, limit: 200 });
    if (newest < seq) {
      seq = newest;
      heard("missed", null);
    }
    for (const row of rows) {
      seq = row.seq;
      heard(row.event, row.message);
    }
    turned("polling");
  }

  async function run() {
    while (!stopped) {
      if (resting === undefined && document.hidden) rest();
      try {
        await stream();
      } catch (error) {
        if (error instanceof Refused && error.status === 401) return;
      }
      if (stopped) return;
      while (hidden) {
        turned("resting");
        await pause(600_000);
      }
      failures += 1;
      try {
        if (failures >= 3) await poll();
        else if (failures > 1) turned("away");
      } catch {
        turned("away");
      }
      // Not all pages at once, after the hub was away.
      await pause(failures >= 3 ? POLL : 400 * failures + 400 * Math.random());
    }
  }

  let hidden = false;
  function rest() {
    resting = setTimeout(() => {
      hidden = true;
      open?.abort();
    }, HIDDEN);
  }
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    resting = undefined;
    if (document.hidden) rest();
    else {
      hidden = false;
      wake();
    }
  });
  addEventListener("online", () => wake());
  run();
  return {
    stop() {
      stopped = true;
      open?.abort();
      wake();
    },
    seen: () => seq
  };
}
