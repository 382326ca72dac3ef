// A house as it is on a Thursday morning: what the stand-in hub knows. Every time is relative to `NOON`, so that pictures repeat.

import { createHash } from "node:crypto";
import { encode } from "./document.mjs";

export const NOON = Date.parse("2026-11-26T10:42:00.000Z");
const MIN = 60_000, HOUR = 60 * MIN;

export const iso = (at) => new Date(at).toISOString();
export const hash = (text) => createHash("sha256").update(text).digest("hex");
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
  const { agent, to, name = null, text, parts = [text], files = [], minutes = Math.max(10, given.left ?? 0), left = minutes, origin = null, kind = "message" } = given;
  const request = hash(`request ${agent} ${text}`).slice(0, 32);
  const [channel, address] = kind === "question" ? ["", ""] : [to.slice(0, to.indexOf(":")), to.slice(to.indexOf(":") + 1)];
  const bytes = encode({
    request, audit_head: hash("head"), agent, origin, action: kind === "question" ? "ask" : "send", channel, account: given.account ?? "home", address, known_as: name, thread: given.thread ?? null,
    reply_to: given.reply_to ?? null, options: given.options ?? [], parts: parts.map((text) => ({ text, wire: hash(text), wire_alt: null })),
    attachments: files.map((file) => ({ ...file, digest: hash(file.name) })), also: given.also ?? [],
  });
  const made = {
    request, kind, message: kind === "question" ? null : id(text), agent, to, known_as: name, targets: 1 + (given.also?.length ?? 0),
    line: text.split("\n").find((line) => line.trim())?.slice(0, 200) ?? "", files: files.length, asked_at: given.decided_at ? iso(Date.parse(given.decided_at) - 90_000) : iso(NOON - (minutes - left) * MIN),
    deadline: iso(NOON + left * MIN), asks_at: given.asks_at ?? null, state: given.state ?? "held", decided_at: given.decided_at ?? null, by: given.by ?? [],
    document: Buffer.from(bytes).toString("base64url"), audit_row: 18_204, why: given.why ?? "It leaves its conversation.", origin_name: given.origin_name ?? null,
    toml: given.toml === null ? null : given.toml ?? `[agents.${agent}]\nallow = ["${to}"]`,
    parts: parts.map((text) => ({ units: text.length, limit: kind === "question" ? 0 : given.limit ?? 4096, unit: "characters", looks: looks(text) })),
    full: parts.join("\n\n"), files_kept: true, quorum: given.quorum ?? 1,
    companions: [
      { name: "shelf", online: true, has_text: true, approved: false, unable_because: null, seen_at: iso(NOON) },
      { name: "hall", online: false, has_text: false, approved: false, unable_because: null, seen_at: iso(NOON - 150 * MIN) },
    ],
    screen: given.screen ?? { lines: [`${agent} > ${channel || "you"}`, `${(name ?? address).slice(0, 16).padEnd(17)}1/3`, ...wrap(text, 21, 3), "deny      hold: approve"], pages: 3 },
    web: { may: false, because: "passkeys do not decide here", passkeys: [] },
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
const PLACES = [["slack:channel:C0123ABC", "release-room", "work"], ["telegram:123456789", "Ann", "home"], ["telegram:-1001234567890", "Family", "home"], ["email:practice@weiss.example", "Dr Weiss, practice", "home"], ["matrix:!garden:example.org", null, "home"], ["local:me", null, "home"]];
const LINES = ["Nightly benchmarks: no regressions over 2 %.", "Lunch at 12:30 works. I have moved the call to two o’clock.", "Milk, oat drink, two lemons, dishwasher salt. Shall I order for tomorrow?", "The heating in the back room was off again between 02:00 and 05:00.", "Two reviews are waiting for you; the older one since Tuesday.", "The parcel is at the neighbours’, number 14.", "Deploy finished in 41 s; all checks are green."];
const ENDS = ["sent", "sent", "sent", "sent", "sent", "failed", "sent", "denied", "sent", "expired", "sent", "unknown", "cancelled", "ready"];
const WHY = { failed: "Slack answered 400: channel_not_found", denied: "shelf denied it", expired: "nobody decided in time", unknown: "the answer was lost after the request had left", cancelled: "its agent took it back" };

export function plainMessage(at, number) {
  const [to, name, account] = PLACES[number % PLACES.length], state = ENDS[(number * 5) % ENDS.length], line = LINES[(number * 3) % LINES.length];
  return {
    id: id(`plain ${number}`), state, agent: AGENTS[number % AGENTS.length], to, known_as: name, account, accepted_at: iso(at), line, files: number % 9 === 4 ? 1 : 0,
    reason: state === "ready" ? "its platform has asked for a pause" : null, error: WHY[state] ?? null,
    action: "send", origin: number % 2 ? to : null, reply_to: null, silent: false, message: line, written: null, due_at: null, ended_at: state === "ready" ? null : iso(at + 412), attempts: state === "failed" ? 3 : 0,
    sent: state === "sent" ? "1 of 1" : "0 of 1", request: null,
    parts: [{ state: { sent: "confirmed", failed: "failed", unknown: "unknown" }[state] ?? "planned", text: line, ...(state === "sent" ? { platform_id: String(1_764_150_000 + number) } : {}), ...(WHY[state] && (state === "failed" || state === "unknown") ? { error: WHY[state] } : {}) }],
  };
}

/** A new house. `many`: how many messages there were before. */
export function world({ many = 36 } = {}) {
  const made = { seq: 18_212, approvals: [], messages: [], audit: [], ...people(), ...machines() };
  approval(made, { agent: "engineer", to: "slack:channel:C0123ABC", name: "release-room", account: "work", text: BUILD, parts: [BUILD, BENCH], limit: 3000, left: 4.2, origin: "telegram:-100123", origin_name: "Telegram, Family", why: "It leaves its conversation." });
  approval(made, { agent: "assistant", to: "email:practice@weiss.example", name: "Dr Weiss, practice", text: DOCTOR, files: [{ name: "referral-hale.pdf", kind: "application/pdf", size: 184_320 }], left: 8.66, limit: 0, why: "E-mail is always held for this agent." });
  approval(made, { agent: "deployer", kind: "question", to: "", text: "Deploy 2.4 to the shop?\n\nAll checks are green; the last deploy was on Monday.", left: 9.5, why: "It asks a person.", toml: null });
  approval(made, { agent: "housekeeper", to: "telegram:-1001234567890", name: "Family", text: LINES[2], asks_at: iso(NOON + 38 * MIN), left: 48, why: "It leaves its conversation; nobody is asked yet, since housekeeper has had its 20 cards of the hour." });
  approval(made, { agent: "engineer", to: "telegram:123456789", name: "Ann", text: LINES[1], state: "sent", decided_at: iso(NOON - 2 * MIN), by: ["companion:shelf"] });
  approval(made, { agent: "assistant", to: "email:landlord@hale.example", text: "Dear Mr Hale, regarding the heating in the back room, I would like to ask you once more for a date.", state: "denied", decided_at: iso(NOON - 44 * MIN), by: ["companion:shelf"], limit: 0 });
  approval(made, { agent: "engineer", to: "slack:channel:C0123ABC", name: "release-room", account: "work", text: LINES[0], state: "sent", decided_at: iso(NOON - 90 * MIN), by: ["companion:hall"] });

  for (const one of made.approvals.filter((one) => one.message)) made.messages.push(ofApproval(one));
  for (let number = 0; number < many; number += 1) made.messages.push(plainMessage(NOON - (12 + number * 17) * MIN, number));
  made.messages.sort((a, b) => b.accepted_at.localeCompare(a.accepted_at));
  history(made);
  return made;
}

/** The message that a card is about. */
export function ofApproval(one) {
  const text = one.full, state = one.state;
  return {
    id: one.message, state, agent: one.agent, to: one.to, known_as: one.known_as, account: "home", accepted_at: iso(Date.parse(one.asked_at) - 900), line: one.line, files: one.files, action: "send", origin: null,
    reply_to: null, silent: false, message: text, written: one.files ? "hi, can we move thursday to next week? tue or wed morning. referral attached" : null, due_at: null, ended_at: one.decided_at, deadline: one.deadline, attempts: 0, sent: state === "sent" ? "1 of 1" : "0 of 1", request: one.request,
    reason: state === "held" ? one.why : null, error: WHY[state] ?? null, parts: one.parts.map((_, at) => ({ state: state === "sent" ? "confirmed" : "planned", text: one.parts.length > 1 ? [BUILD, BENCH][at] : text })),
    ...(one.files ? { attachments: [{ name: "referral-hale.pdf", kind: "application/pdf", size: 184_320, sha256: hash("referral-hale.pdf") }] } : {}),
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
    if (one.request) row(Date.parse(one.ended_at) - 400, "companion:shelf", one.state === "denied" ? "message.denied" : "message.ready", one.id, { verdict: one.state === "denied" ? "deny" : "approve" });
    if (one.state !== "denied") row(Date.parse(one.ended_at ?? one.accepted_at), "hub", `message.${one.state}`, one.id, one.error ? { reason: one.error } : {});
  }
  row(NOON - 55 * MIN, "nobody", "call.refused", null, { endpoint: "POST /v1/messages", code: "unauthorized" });
  rows.sort((a, b) => a.at - b.at);
  made.audit = rows.map((one, at) => ({ seq: made.seq - rows.length + 1 + at, ...one, at: iso(one.at), hash: hash(`row ${at}`) }));
}

function people() {
  const session = (agent, name, place, ago) => ({ agent, session: name, places: [place], opened_by: "tg:123456789", at: iso(NOON - 50 * HOUR), last_at: iso(NOON - ago * MIN) });
  const line = (ago, mine, who, text) => ({ at: iso(NOON - ago * MIN), kind: "message", mine, place: "telegram:-1001234567890", scope: "owner", text, who });
  return {
    sessions: [session("housekeeper", "family", "telegram:-1001234567890", 3), session("engineer", "main", "local:me", 22), session("assistant", "ann", "telegram:123456789", 260)],
    lines: {
      "housekeeper family": [line(46, false, "Ann", "Are we out of milk?"), line(45, true, "housekeeper", "Yes, since this morning. I have put milk and oat drink on the list."), line(12, false, "Ben", "dishwasher salt too please"), line(3, true, "housekeeper", "Added. Shall I order for tomorrow?")],
      "engineer main": [{ ...line(24, false, "me", "How far is 2.4?"), place: "local:me" }, { ...line(22, true, "engineer", "All checks are green. I have asked to announce it in release-room; that message waits for you."), place: "local:me" }],
      "assistant ann": [line(262, false, "Ann", "Please move Thursday’s appointment."), line(260, true, "assistant", "I have written to the practice.")],
    },
    local: [{ seq: 1, address: "me", at: iso(NOON - 22 * MIN), text: "All checks are green. I have asked to announce it in release-room; that message waits for you.", thread: null }],
    requests: [{ code: "K7QX", what: "person", subject: "tg:555000111", channel: "telegram", account: "home", address: "555000111", agent: "assistant", name: "Charlie", at: iso(NOON - 8 * MIN), expires_at: iso(NOON + 22 * HOUR) }],
    turns: [
      { turn: "t01", agent: "engineer", session: "main", cause: "message", scope: "owner", state: "leased", target: "local:me", attempts: 1, outcome: null, at: iso(NOON - 1 * MIN), due_at: iso(NOON - 1 * MIN), ended_at: null },
      { turn: "t02", agent: "housekeeper", session: "family", cause: "message", scope: "known", state: "done", target: "telegram:-1001234567890", attempts: 1, outcome: "replied", at: iso(NOON - 12 * MIN), due_at: iso(NOON - 12 * MIN), ended_at: iso(NOON - 11 * MIN) },
      { turn: "t03", agent: "assistant", session: "ann", cause: "task", scope: "owner", state: "failed", target: "telegram:123456789", attempts: 4, outcome: "the agent’s program ended without an answer", at: iso(NOON - 95 * MIN), due_at: iso(NOON - 95 * MIN), ended_at: iso(NOON - 80 * MIN) },
      { turn: "t04", agent: "engineer", session: "main", cause: "heartbeat", scope: "owner", state: "done", target: null, attempts: 1, outcome: "nothing to do", at: iso(NOON - 130 * MIN), due_at: iso(NOON - 130 * MIN), ended_at: iso(NOON - 129 * MIN) },
    ],
    items: { id: "i1", kind: "message", text: "How far is 2.4?", sender: { id: "local:me", name: "me", scope: "owner" }, files: [] },
  };
}

function machines() {
  const agent = (name, more = {}) => ({ name, role: "agent", created_at: iso(NOON - 400 * HOUR), configured: true, allow: [], hold: [], cross_context: "hold", cards: 0, cards_per_hour: 20, muted_until: null, ...more });
  const ready = (channel, said, more = {}) => ({ channel, account: "home", mode: "direct", ready: true, said, limits: "4,096 characters, files of 50 MB", last_sent_at: iso(NOON - 14 * MIN), receives: false, ...more });
  return {
    agents: [
      agent("engineer", { allow: ["slack:channel:C0123ABC", "telegram:*", "local:*"], hold: ["slack:*"], cards: 3 }),
      agent("assistant", { allow: ["email:*", "telegram:123456789"], hold: ["email:*"], cards: 2 }),
      agent("housekeeper", { allow: ["telegram:-1001234567890"], cards: 20, muted_until: iso(NOON + 35 * MIN) }),
      agent("gardener", { created_at: null, allow: ["matrix:!garden:example.org"], cross_context: "deny" }),
      agent("operator", { role: "operator", configured: false, cross_context: null, cards_per_hour: 0 }),
      agent("prometheus", { role: "monitor", configured: false, cross_context: null, cards_per_hour: 0 }),
    ],
    channels: [
      ready("telegram", "@my_house_bot", { receives: true }), ready("slack", "gatepost in Hale & Sons", { account: "work", limits: "3,000 characters a block, files of 1 GB", last_sent_at: iso(NOON - 95 * MIN) }),
      ready("email", "ann@hale.example by mail.hale.example", { limits: "no limit of the text, files of 25 MB" }), ready("matrix", "@gatepost:example.org", { receives: true, limits: "64 KB a message", last_sent_at: null }),
      ready("ntfy", "cannot connect to ntfy.sh: the name does not resolve", { ready: false, limits: "4,096 bytes", last_sent_at: iso(NOON - 30 * HOUR) }), ready("local", "the hub’s own inbox", { limits: "64 KB a message" }),
    ],
    guides: ["local:the hub’s own inbox", "email:mail through your own mail server", "matrix:an account on a Matrix homeserver", "telegram:a bot", "discord:a bot", "slack:a bot in one workspace", "googlechat:a Chat app, or the webhook of one space", "teams:a bot, or the webhook of a workflow", "signal:an account of signal-cli", "whatsapp:Meta’s Cloud API, a phone’s session, or both", "imessage:a Mac with BlueBubbles, or with imsg", "webhook:signed JSON to an address of yours", "ntfy:notifications on phones and desktops"].map((one) => ({ channel: one.slice(0, one.indexOf(":")), account: one.slice(one.indexOf(":") + 1) })),
    companions: [
      { name: "shelf", key: "k7m2", public_key: hash("shelf"), kind: "device", added_at: iso(NOON - 900 * HOUR), seen_at: iso(NOON), decided_at: iso(NOON - 2 * MIN), decided: "approve", today: { approved: 7, denied: 1 }, shows: null, revoked_at: null, online: true, able: true, unable_because: null, firmware: { board: "esp32c3", version: "0.2.0", state: "settled" }, update: null },
      { name: "hall", key: "p9xd", public_key: hash("hall"), kind: "device", added_at: iso(NOON - 20 * HOUR), seen_at: iso(NOON - 150 * MIN), decided_at: iso(NOON - 15 * HOUR), decided: "deny", today: { approved: 1, denied: 0 }, shows: null, revoked_at: null, online: false, able: false, unable_because: "it is not connected", firmware: { board: "esp32c6", version: "0.2.0", state: "settled" }, update: null },
    ],
    updates: {
      root: 1, warnings: [], releases: [{ board: "esp32c3", version: "0.3.0", floor: "0.1.0", size: 912_384, image: hash("c3"), root: 1, added_at: iso(NOON - 5 * HOUR), expires_at: iso(NOON + 2000 * HOUR), rolled_out: false, newest: true }, { board: "esp32c6", version: "0.3.0", floor: "0.1.0", size: 940_112, image: hash("c6"), root: 1, added_at: iso(NOON - 5 * HOUR), expires_at: iso(NOON + 2000 * HOUR), rolled_out: true, newest: true }, { board: "esp32c3", version: "0.2.0", floor: "0.1.0", size: 899_002, image: hash("c3 old"), root: 1, added_at: iso(NOON - 700 * HOUR), expires_at: iso(NOON + 900 * HOUR), rolled_out: true, newest: false }],
      roll_outs: [{ board: "esp32c6", version: "0.3.0", at: iso(NOON - 4 * HOUR), by: "operator", companions: 1, confirmed: 0, paused: false, now: false, again: false, to: [] }], companions: [],
      hub: { version: "0.9.0", installed_by: "apt", newest: "0.9.1", state: "idle", text: null, slots: [] },
    },
    passkeys: [], logins: [
      { login: "l1", name: "operator", way: "code", browser: "Chromium on Linux", from: "127.0.0.1", began_at: iso(NOON - 3 * HOUR), seen_at: iso(NOON), expires_at: iso(NOON + 717 * HOUR), this_one: true },
      { login: "l2", name: "operator", way: "passkey", browser: "Safari on iPhone", from: "192.168.1.23", began_at: iso(NOON - 80 * HOUR), seen_at: iso(NOON - 9 * HOUR), expires_at: iso(NOON + 700 * HOUR), this_one: false },
    ],
    settings: SETTINGS,
  };
}

const SETTINGS = [
  { section: "hub", doc: "The hub itself: where its data is, and where it listens.", keys: [
    { key: "data_dir", value: '"/var/lib/gatepost"', origin: "file", line: 8, doc: "Where the queue, the keys and the audit live." },
    { key: "listen", value: '"127.0.0.1:8787"', origin: "default", line: null, doc: "Where agents and the command line reach the hub. Keep it on loopback unless a proxy with TLS stands before it." },
    { key: "max_body", value: "262144", origin: "default", line: null, doc: "The longest request body that the hub reads, in bytes." }] },
  { section: "approval", doc: "Who decides about held messages, and until when.", keys: [
    { key: "ttl", value: '"10m"', origin: "file", line: 21, doc: "How long a message waits for a person. After that it is expired and not sent." },
    { key: "approvers", value: '["companion"]', origin: "default", line: null, doc: "Who may decide." },
    { key: "cards_per_hour", value: "20", origin: "default", line: null, doc: "How many messages of one agent people are asked about within an hour; 0 for no limit." }] },
  { section: "channels.telegram.home", doc: "A bot.", keys: [{ key: "token", value: "***", origin: "file", line: 34, doc: "The bot’s token, as @BotFather gives it." }, { key: "receive", value: "true", origin: "file", line: 35, doc: "Whether the hub reads what people write to the bot." }] },
];
