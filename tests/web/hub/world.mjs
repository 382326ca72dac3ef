// A house as it is on a Thursday morning: what the stand-in hub knows.

import { encode } from "./document.mjs";
import { machines } from "./machines.mjs";
import { people } from "./people.mjs";
import { HOUR, MIN, NOON, hash, iso } from "./time.mjs";

const id = (text) => "m01a20d" + hash(text).slice(0, 26);

const BUILD = `The build for 2.4 is green. Three things changed since Friday:

•  the retry schedule waits for what the platform names
•  parts keep their order after a restart
•  the companion pages long messages at word ends

Details are in the report https://ci.example.org/runs/8812/report.html

What to run before you tag:

git fetch --tags
cargo xtask release --dry-run 2.4.0
tests/run --quick   # 6 min

Please answer here until 18:00\u200b, otherwise I will ask again tomorrow.`;
const BENCH = `Benchmarks against 2.3, same machine:

what                 2.3      2.4
durable accept    5,210/s  9,870/s
idle memory       24.1 MB  17.9 MB
start to ready      140 ms    61 ms`;
const DOCTOR = `Good morning,

I would like to move Thursday’s appointment to next week, if possible to Tuesday or Wednesday before noon. The referral is attached.

Kind regards
Ann Hale`;

/** Holds a message, or a question: a card. */
export function approval(world, given) {
  const {
    agent,
    to,
    name = null,
    text,
    parts = [text],
    files = [],
    minutes = Math.max(10, given.left ?? 0),
    left = minutes,
    origin = null,
    kind = "message"
  } = given;
  const request = hash(`request ${agent} ${text}`).slice(0, 32);
  const [channel, address] = kind === "question" ? ["", ""] : [to.slice(0, to.indexOf(":")), to.slice(to.indexOf(":") + 1)];
  const bytes = encode({
    request,
    audit_head: hash("head"),
    agent,
    origin,
    action: kind === "question" ? "ask" : "send",
    channel,
    account: given.account ?? "home",
    address,
    known_as: name,
    thread: given.thread ?? null,
    reply_to: given.reply_to ?? null,
    options: given.options ?? [],
    parts: parts.map((text) => ({ text, wire: hash(text), wire_alt: null })),
    attachments: files.map((file) => ({ ...file, digest: hash(file.name) })),
    also: given.also ?? []
  });
  const made = {
    request,
    kind,
    message: kind === "question" ? null : id(text),
    agent,
    to,
    known_as: name,
    targets: 1 + (given.also?.length ?? 0),
    line:
      text
        .split("\n")
        .find((line) => line.trim())
        ?.slice(0, 200) ?? "",
    files: files.length,
    asked_at: given.decided_at ? iso(Date.parse(given.decided_at) - 90_000) : iso(NOON - (minutes - left) * MIN),
    deadline: iso(NOON + left * MIN),
    asks_at: given.asks_at ?? null,
    state: given.state ?? "held",
    decided_at: given.decided_at ?? null,
    by: given.by ?? [],
    document: Buffer.from(bytes).toString("base64url"),
    audit_row: 18_204,
    why: given.why ?? "It leaves its conversation.",
    origin_name: given.origin_name ?? null,
    toml: given.toml === null ? null : (given.toml ?? `[agents.${agent}]\nallow = ["${to}"]`),
    parts: parts.map((text) => ({
      units: text.length,
      limit: kind === "question" ? 0 : (given.limit ?? 4096),
      unit: "characters",
      looks: looks(text)
    })),
    full: parts.join("\n\n"),
    files_kept: true,
    quorum: given.quorum ?? 1,
    decided_by: given.decided_by ?? "any",
    companions: [
      { name: "shelf", online: true, has_text: true, approved: false, unable_because: null, seen_at: iso(NOON) },
      { name: "hall", online: false, has_text: false, approved: false, unable_because: null, seen_at: iso(NOON - 150 * MIN) }
    ],
    screen: given.screen ?? {
      lines: [
        `${agent} > ${channel || "you"}`,
        `${(name ?? address).slice(0, 16).padEnd(17)}1/3`,
        ...wrap(text, 21, 3),
        "deny      hold: approve"
      ],
      pages: 3
    },
    web: { may: false, because: "passkeys do not decide here", passkeys: [] }
  };
  world.approvals.push(made);
  return made;
}

function wrap(text, width, most) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length > width) lines.push(word.slice(0, width));
    else lines[lines.length - 1] = last ? `${last} ${word}` : word.slice(0, width);
  }
  return lines.slice(0, most);
}

/** As a platform might show it: addresses as links, indented blocks as code. */
const looks = (text) => text.split(/(https?:\/\/\S+)/).map((piece) => ({ text: piece, style: /^https?:/.test(piece) ? ["link"] : [] }));

const AGENTS = ["engineer", "assistant", "housekeeper"];
const PLACES = [
  ["slack:channel:C0123ABC", "release-room", "work"],
  ["telegram:123456789", "Ann", "home"],
  ["telegram:-1001234567890", "Family", "home"],
  ["email:practice@weiss.example", "Dr Weiss, practice", "home"],
  ["matrix:!garden:example.org", null, "home"],
  ["local:me", null, "home"]
];
const LINES = [
  "Nightly benchmarks: no regressions over 2 %.",
  "Lunch at 12:30 works. I have moved the call to two o’clock.",
  "Milk, oat drink, two lemons, dishwasher salt. Shall I order for tomorrow?",
  "The heating in the back room was off again between 02:00 and 05:00.",
  "Two reviews are waiting for you; the older one since Tuesday.",
  "The parcel is at the neighbours’, number 14.",
  "Deploy finished in 41 s; all checks are green."
];
const ENDS = [
  "sent",
  "sent",
  "sent",
  "sent",
  "sent",
  "failed",
  "sent",
  "denied",
  "sent",
  "expired",
  "sent",
  "unknown",
  "cancelled",
  "ready"
];
const WHY = {
  failed: "Slack answered 400: channel_not_found",
  denied: "shelf denied it",
  expired: "nobody decided in time",
  unknown: "the answer was lost after the request had left",
  cancelled: "its agent took it back"
};

export function plainMessage(at, number) {
  const [to, name, account] = PLACES[number % PLACES.length],
    state = ENDS[(number * 5) % ENDS.length],
    line = LINES[(number * 3) % LINES.length];
  return {
    id: id(`plain ${number}`),
    state,
    agent: AGENTS[number % AGENTS.length],
    to,
    known_as: name,
    account,
    accepted_at: iso(at),
    line,
    files: number % 9 === 4 ? 1 : 0,
    reason: state === "ready" ? "its platform has asked for a pause" : null,
    error: WHY[state] ?? null,
    action: "send",
    origin: number % 2 ? to : null,
    reply_to: null,
    silent: false,
    message: line,
    written: null,
    due_at: null,
    ended_at: state === "ready" ? null : iso(at + 412),
    attempts: state === "failed" ? 3 : 0,
    sent: state === "sent" ? "1 of 1" : "0 of 1",
    request: null,
    parts: [
      {
        state: { sent: "confirmed", failed: "failed", unknown: "unknown" }[state] ?? "planned",
        text: line,
        ...(state === "sent" ? { platform_id: String(1_764_150_000 + number) } : {}),
        ...(WHY[state] && (state === "failed" || state === "unknown") ? { error: WHY[state] } : {})
      }
    ]
  };
}

/** A new house. `many`: how many messages there were before. */
export function world({ many = 36 } = {}) {
  const made = { seq: 18_212, approvals: [], messages: [], audit: [], ...people(), ...machines() };
  approval(made, {
    agent: "engineer",
    to: "slack:channel:C0123ABC",
    name: "release-room",
    account: "work",
    text: BUILD,
    parts: [BUILD, BENCH],
    limit: 3000,
    left: 4.2,
    origin: "telegram:-100123",
    origin_name: "Telegram, Family",
    why: "It leaves its conversation."
  });
  approval(made, {
    agent: "assistant",
    to: "email:practice@weiss.example",
    name: "Dr Weiss, practice",
    text: DOCTOR,
    files: [{ name: "referral-hale.pdf", kind: "application/pdf", size: 184_320 }],
    left: 8.66,
    limit: 0,
    why: "E-mail is always held for this agent."
  });
  approval(made, {
    agent: "deployer",
    kind: "question",
    to: "",
    text: "Deploy 2.4 to the shop?\n\nAll checks are green; the last deploy was on Monday.",
    left: 9.5,
    why: "It asks a person.",
    toml: null
  });
  approval(made, {
    agent: "housekeeper",
    to: "telegram:-1001234567890",
    name: "Family",
    text: LINES[2],
    asks_at: iso(NOON + 38 * MIN),
    left: 48,
    why: "It leaves its conversation; nobody is asked yet, since housekeeper has had its 20 cards of the hour."
  });
  approval(made, {
    agent: "engineer",
    to: "telegram:123456789",
    name: "Ann",
    text: LINES[1],
    state: "sent",
    decided_at: iso(NOON - 2 * MIN),
    by: ["companion:shelf"]
  });
  approval(made, {
    agent: "assistant",
    to: "email:landlord@hale.example",
    text: "Dear Mr Hale, regarding the heating in the back room, I would like to ask you once more for a date.",
    state: "denied",
    decided_at: iso(NOON - 44 * MIN),
    by: ["companion:shelf"],
    limit: 0
  });
  approval(made, {
    agent: "engineer",
    to: "slack:channel:C0123ABC",
    name: "release-room",
    account: "work",
    text: LINES[0],
    state: "sent",
    decided_at: iso(NOON - 90 * MIN),
    by: ["companion:hall"]
  });

  made.companions[0].shows = made.approvals[0].request;
  for (const one of made.approvals.filter((one) => one.message)) made.messages.push(ofApproval(one));
  for (let number = 0; number < many; number += 1) made.messages.push(plainMessage(NOON - (12 + number * 17) * MIN, number));
  made.messages.sort((a, b) => b.accepted_at.localeCompare(a.accepted_at));
  history(made);
  return made;
}

/** The message that a card is about. */
export function ofApproval(one) {
  const text = one.full,
    state = one.state;
  return {
    id: one.message,
    state,
    agent: one.agent,
    to: one.to,
    known_as: one.known_as,
    account: "home",
    accepted_at: iso(Date.parse(one.asked_at) - 900),
    line: one.line,
    files: one.files,
    action: "send",
    origin: null,
    reply_to: null,
    silent: false,
    message: text,
    written: one.files ? "hi, can we move thursday to next week? tue or wed morning. referral attached" : null,
    due_at: null,
    ended_at: one.decided_at,
    deadline: one.deadline,
    attempts: 0,
    sent: state === "sent" ? "1 of 1" : "0 of 1",
    request: one.request,
    reason: state === "held" ? one.why : null,
    error: WHY[state] ?? null,
    parts: one.parts.map((_, at) => ({
      state: state === "sent" ? "confirmed" : "planned",
      text: one.parts.length > 1 ? [BUILD, BENCH][at] : text
    })),
    ...(one.files
      ? { attachments: [{ name: "referral-hale.pdf", kind: "application/pdf", size: 184_320, sha256: hash("referral-hale.pdf") }] }
      : {})
  };
}

function history(made) {
  const rows = [];
  const row = (at, actor, event, message, detail = {}) => rows.push({ at, actor, event, message, detail });
  row(NOON - 26 * HOUR, "operator:operator", "configuration.reloaded", null, { changed: ["agents.assistant.hold"] });
  row(NOON - 20 * HOUR, "operator:operator", "device.added", null, { name: "hall" });
  row(NOON - 150 * MIN, "hub", "device.display", null, { name: "hall", works: true });
  for (const one of made.messages.slice(0, 30)) {
    const at = Date.parse(one.accepted_at);
    row(at, `agent:${one.agent}`, "message.accepted", one.id);
    if (one.request) row(at + 40, "hub", "message.held", one.id, { reason: "it leaves its conversation" });
    if (one.state === "held") continue;
    if (one.request)
      row(Date.parse(one.ended_at) - 400, "companion:shelf", one.state === "denied" ? "message.denied" : "message.ready", one.id, {
        verdict: one.state === "denied" ? "deny" : "approve"
      });
    if (one.state !== "denied")
      row(Date.parse(one.ended_at ?? one.accepted_at), "hub", `message.${one.state}`, one.id, one.error ? { reason: one.error } : {});
  }
  row(NOON - 55 * MIN, "nobody", "call.refused", null, { endpoint: "POST /v1/messages", code: "unauthorized" });
  rows.sort((a, b) => a.at - b.at);
  made.audit = rows.map((one, at) => ({ seq: made.seq - rows.length + 1 + at, ...one, at: iso(one.at), hash: hash(`row ${at}`) }));
}
