// A day in steps of five minutes, the same every time.

import { NOON, iso } from "./time.mjs";

export function figures() {
  let dice = 7;
  const roll = () => (dice = (dice * 1103515245 + 12345) % 2147483648) / 2147483648;
  const buckets = Array.from({ length: 288 }, (_, at) => {
    const awake = at > 84 ? 1.6 : 0.35,
      sent = Math.floor(roll() * roll() * 5 * awake);
    return {
      sent,
      denied: at % 67 === 40 ? 1 : 0,
      failed: at % 120 === 77 ? 1 : 0,
      p50_ms: sent ? 35 + Math.floor(roll() * 18) : null,
      p95_ms: sent ? 70 + Math.floor(roll() * 60) : null
    };
  });
  const sum = (key) => buckets.reduce((all, bucket) => all + bucket[key], 0);
  return {
    ok: true,
    from: iso(NOON - 24 * 3_600_000),
    step_s: 300,
    buckets,
    totals: { sent: sum("sent"), denied: sum("denied"), expired: 1, failed: sum("failed"), unknown: 0, cancelled: 2 },
    asked: { times: 11, expired: 1, median_s: 46 },
    now: { held: 4, queued: 5, oldest_s: 120 },
    delivery: { p50_ms: 41, p95_ms: 88 }
  };
}
