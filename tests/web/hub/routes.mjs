// What the stand-in hub answers, call by call.

import { createHash, randomBytes } from "node:crypto";
import { figures } from "./figures.mjs";
import { Refusal } from "./hub.mjs";
import { refusal, sha256, statement } from "./passkey.mjs";
import { iso } from "./world.mjs";

const missing = () => new Refusal(404, "not_found", "there is no such thing", "it may have been purged");
const need = (found) => {
  if (!found) throw missing();
  return found;
};

/** A request and what it is answered with: the first that fits. `*` in a path is one piece of it. */
const CALLS = [
  ["POST /v1/login", (hub, { body, response }) => {
    if (body.code && !hub.codes.delete(body.code)) throw new Refusal(401, "unauthorized", "this code is not good any more", "make a new one with: gatepost open", "code");
    if (body.token !== undefined && body.token !== hub.token) throw new Refusal(401, "unauthorized", "this is no operator's token", "", "token");
    if (body.passkey) {
      const key = need(hub.world.passkeys.find((one) => one.credential === body.passkey.credential));
      const wrong = refusal({ assertion: body.passkey, challenge: hub.challenge, origin: hub.origin, rpId: "localhost", spki: key.public_key });
      if (wrong) throw new Refusal(401, "unauthorized", wrong, "", "passkey");
    }
    hub.begin(response, body.code ? "code" : body.token ? "token" : "passkey");
    return { ...who(hub), created: true };
  }],
  ["GET /v1/login", who],
  ["DELETE /v1/login", (hub, { response }) => {
    hub.logins.clear();
    response.setHeader("set-cookie", "gatepost=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    return {};
  }],
  ["GET /v1/logins", (hub) => ({ logins: hub.world.logins })],
  ["DELETE /v1/logins/*", (hub, { rest: [id] }) => remove(hub.world.logins, (one) => one.login === id)],
  ["GET /v1/passkeys", (hub) => ({ passkeys: hub.world.passkeys.map(({ passkey, name, added_at, used_at }) => ({ passkey, name, added_at, used_at })) })],
  ["POST /v1/passkeys/challenge", (hub) => {
    hub.challenge = randomBytes(32);
    return { challenge: hub.challenge.toString("base64url"), rp_id: "localhost", user: Buffer.alloc(16, 7).toString("base64url") };
  }],
  ["POST /v1/passkeys", (hub, { body }) => {
    if (body.token !== hub.token) throw new Refusal(401, "unauthorized", "this is no operator's token", "", "token");
    const client = JSON.parse(Buffer.from(body.client_data, "base64url").toString());
    if (client.type !== "webauthn.create" || client.origin !== hub.origin || !Buffer.from(client.challenge, "base64url").equals(hub.challenge)) throw new Refusal(403, "forbidden", "this passkey was made for something else", "", "passkey");
    const passkey = { passkey: sha256(Buffer.from(body.credential, "base64url")).toString("hex").slice(0, 16), name: body.name, added_at: iso(hub.now()), used_at: null, credential: body.credential, public_key: body.public_key };
    hub.world.passkeys.push(passkey);
    return { passkey, created: true };
  }],
  ["DELETE /v1/passkeys/*", (hub, { rest: [id] }) => remove(hub.world.passkeys, (one) => one.passkey === id)],

  ["GET /v1/approvals", (hub) => {
    const row = ({ request, kind, message, agent, to, known_as, targets, line, files, asked_at, deadline, asks_at, state, decided_at, by }) => ({ request, kind, message, agent, to, known_as, targets, line, files, asked_at, deadline, asks_at, state, decided_at, by });
    const open = hub.world.approvals.filter((one) => !one.decided_at), by = (key) => (a, b) => a[key].localeCompare(b[key]);
    return {
      waiting: open.filter((one) => !one.asks_at).sort(by("deadline")).map(row), later: open.filter((one) => one.asks_at).sort(by("asks_at")).map(row),
      decided: hub.world.approvals.filter((one) => one.decided_at).sort(by("decided_at")).reverse().slice(0, 50).map(row),
    };
  }],
  ["GET /v1/approvals/*", (hub, { rest: [id] }) => {
    const one = need(hub.world.approvals.find((approval) => approval.request === id));
    const passkeys = hub.world.passkeys.map(({ credential, name }) => ({ credential, name }));
    return { ...one, ...(hub.web ? { web: { may: true, because: null, passkeys } } : {}) };
  }],
  ["POST /v1/approvals/*/challenge", (hub, { rest: [id] }) => {
    if (!hub.web) throw new Refusal(403, "forbidden", "passkeys do not decide here", "see [approval] approvers", "web");
    undecided(hub, id);
    const nonce = randomBytes(16).toString("base64url");
    hub.nonces.set(nonce, id);
    return { nonce, hub_key: hub.key, rp_id: "localhost" };
  }],
  ["POST /v1/approvals/*/decision", (hub, { rest: [id], body }) => {
    if (!hub.web) throw new Refusal(403, "forbidden", "passkeys do not decide here", "", "web");
    const one = undecided(hub, id), key = need(hub.world.passkeys.find((known) => known.credential === body.credential));
    if (hub.nonces.get(body.nonce) !== id) throw new Refusal(409, "conflict", "this decision was used already, or is too old", "decide again", "nonce");
    hub.nonces.delete(body.nonce);
    const document = sha256(Buffer.from(one.document, "base64url"));
    const what = statement({ hub: hub.key, credential: Buffer.from(body.credential, "base64url"), request: id, document, verdict: body.verdict, nonce: Buffer.from(body.nonce, "base64url") });
    const wrong = refusal({ assertion: body, challenge: sha256(what), origin: hub.origin, rpId: "localhost", spki: key.public_key });
    if (wrong || body.document !== document.toString("hex")) throw new Refusal(403, "forbidden", wrong ?? "it is of another document", "", "passkey");
    hub.decide(id, body.verdict, `web:${key.name}`);
    return { verdict: body.verdict, approvals: 1, quorum: 1, state: one.state };
  }],

  ["GET /v1/messages", (hub, { keys }) => listed(hub, keys)],
  ["GET /v1/messages/*", (hub, { rest: [id] }) => message(hub, id)],
  ["POST /v1/messages/*/cancel", (hub, { rest: [id] }) => {
    const one = message(hub, id), card = hub.world.approvals.find((approval) => approval.message === id);
    Object.assign(one, { state: "cancelled", ended_at: iso(hub.now()) });
    if (card) Object.assign(card, { state: "cancelled", decided_at: iso(hub.now()) });
    hub.emit("message.cancelled", id, { actor: "operator:operator" });
    return one;
  }],
  ["POST /v1/messages/*/retry", (hub, { rest: [id], keys }) => {
    const one = message(hub, id);
    if (one.state === "unknown" && !keys.has("mayDuplicate")) throw new Refusal(409, "conflict", "it may have arrived", "say mayDuplicate");
    Object.assign(one, { state: "ready", error: null, ended_at: null });
    hub.emit("message.ready", id, { actor: "operator:operator" });
    return one;
  }],
  ["POST /v1/messages/*/settle", (hub, { rest: [id], body }) => Object.assign(message(hub, id), { state: body.arrived ? "sent" : "ready" })],
  ["POST /v1/messages", (_, { body }) => ({ id: "m" + createHash("sha256").update(body.message).digest("hex").slice(0, 32), state: "sent", to: `${body.channel}:${body.to}` })],
  ["POST /v1/purge", (hub, { keys }) => {
    remove(hub.world.messages, (one) => one.id === keys.get("id"));
    hub.emit("queue.purged", null, { actor: "operator:operator" });
    return { purged: 1, more: false };
  }],

  ["GET /v1/sessions", (hub) => ({ sessions: hub.world.sessions })],
  ["GET /v1/sessions/transcript", (hub, { keys }) => ({ lines: hub.world.lines[`${keys.get("agent")} ${keys.get("session")}`] ?? [] })],
  ["GET /v1/local", (hub) => ({ arrived: hub.world.local })],
  ["POST /v1/inbound", (hub, { body }) => {
    hub.world.lines[`${body.agent} ${body.session}`]?.push({ at: iso(hub.now()), kind: "message", mine: false, place: `local:${body.peer}`, text: body.text, who: body.sender });
    hub.emit("turn.waiting", null, { detail: { agent: body.agent } });
    return { context: "c", created: true };
  }],
  ["GET /v1/people", (hub) => ({ people: [], requests: hub.world.requests })],
  ["POST /v1/people/requests/*", (hub, { rest: [code], body }) => {
    remove(hub.world.requests, (one) => one.code === code);
    hub.emit("access.decided", null, { detail: body });
    return {};
  }],
  ["GET /v1/turns", (hub, { keys }) => ({ turns: hub.world.turns.filter((one) => !keys.get("state") || one.state === keys.get("state")) })],
  ["GET /v1/turns/*", (hub, { rest: [id] }) => {
    const one = need(hub.world.turns.find((turn) => turn.turn === id));
    return { ...one, items: one.cause === "message" ? [{ ...hub.world.items, at: one.at }] : [] };
  }],
  ["POST /v1/turns/*/*", (hub, { rest: [id, what] }) => {
    Object.assign(need(hub.world.turns.find((turn) => turn.turn === id)), { state: what === "retry" ? "waiting" : "done", ended_at: null });
    hub.emit("turn.retried");
    return { again: what === "retry" };
  }],

  ["GET /v1/agents", (hub) => ({ agents: hub.world.agents })],
  ["POST /v1/agents", (hub, { body }) => {
    if (hub.world.agents.some((one) => one.name === body.name && one.created_at)) throw new Refusal(409, "conflict", `${body.name} has a token`, "revoke it, or choose another name");
    const known = hub.world.agents.find((one) => one.name === body.name);
    if (known) known.created_at = iso(hub.now());
    else hub.world.agents.push({ name: body.name, role: body.role, created_at: iso(hub.now()), configured: false, allow: [], hold: [], cross_context: null, cards: 0, cards_per_hour: 20, muted_until: null });
    hub.emit("token.added");
    return { name: body.name, role: body.role, token: "gp_" + randomBytes(32).toString("base64url"), configured: !!known, created: true };
  }],
  ["DELETE /v1/agents/*", (hub, { rest: [name] }) => {
    const one = need(hub.world.agents.find((agent) => agent.name === name));
    one.created_at = null;
    if (!one.configured) remove(hub.world.agents, (agent) => agent === one);
    hub.emit("token.revoked");
    return {};
  }],
  ["POST /v1/agents/*/try", (hub, { rest: [name], body }) => {
    const agent = need(hub.world.agents.find((one) => one.name === name));
    const fits = (pattern) => pattern === body.to || (pattern.endsWith("*") && body.to.startsWith(pattern.slice(0, -1)));
    const held = agent.hold.some(fits), allowed = agent.allow.some(fits);
    return { ok: allowed, dry_run: true, verdict: !allowed ? "deny" : held ? "hold" : "allow", reason: !allowed ? `${body.to} is not on the allowlist of ${name}` : held ? "its target is under hold" : "its target is under allow", to: body.to, account: "home", parts: [] };
  }],
  ["POST /v1/agents/*/mute", (hub, { rest: [name], body }) => {
    const one = need(hub.world.agents.find((agent) => agent.name === name));
    one.muted_until = body.seconds ? iso(hub.now() + body.seconds * 1000) : null;
    hub.emit(body.seconds ? "agent.muted" : "agent.unmuted");
    return { muted_until: one.muted_until };
  }],
  ["GET /v1/channels", (hub) => ({ ok: hub.world.channels.every((one) => one.ready), channels: hub.world.channels })],
  ["GET /v1/channels/guides", (hub) => ({ guides: hub.world.guides })],
  ["GET /v1/channels/guides/*", async (hub, { rest: [channel] }) => {
    const { readFile } = await import("node:fs/promises");
    const guide = await readFile(new URL(`../../../daemon/src/channels/${need(hub.world.guides.find((one) => one.channel === channel)).channel}/SETUP.md`, import.meta.url), "utf8");
    return { ...hub.world.guides.find((one) => one.channel === channel), guide };
  }],
  ["GET /v1/companions", (hub) => ({ companions: hub.world.companions, broker: { connected: true, reason: null } })],
  ["POST /v1/companions/*/rename", (hub, { rest: [name], body }) => {
    need(hub.world.companions.find((one) => one.name === name)).name = body.name;
    hub.emit("device.renamed");
    return {};
  }],
  ["DELETE /v1/companions/*", (hub, { rest: [name] }) => {
    need(hub.world.companions.find((one) => one.name === name)).revoked_at = iso(hub.now());
    hub.emit("device.revoked");
    return { withdrawn: 0, left: 1, quorum: 1 };
  }],
  ["POST /v1/pairing", async (hub) => {
    await new Promise((done) => setTimeout(done, hub.frozen ? 20 : 150));
    return { code: "407912", key: "z3qt", kind: "device", expires_in_s: 60 };
  }],
  ["POST /v1/pairing/*", (hub, { rest: [code], body }) => {
    if (!body.same || code !== "407912") throw new Refusal(409, "conflict", "the numbers were not the same: nobody was paired", "begin again");
    hub.world.companions.push({ ...structuredClone(hub.world.companions[0]), name: body.name ?? "companion", key: "z3qt", added_at: iso(hub.now()), decided_at: null, decided: null, today: { approved: 0, denied: 0 } });
    hub.emit("device.added");
    return { companion: { name: body.name ?? "companion", key: "z3qt", kind: "device" } };
  }],
  ["GET /v1/updates", (hub) => ({ ...hub.world.updates, companions: hub.world.companions.map(({ name, firmware, update }) => ({ name, firmware, update })) })],
  ["POST /v1/updates/roll-out", (hub, { body }) => {
    hub.emit("ota.rolled_out");
    return { version: body.version, boards: ["esp32c3"], resumed: [] };
  }],
  ["POST /v1/updates/hub", (hub, { body }) => {
    Object.assign(hub.world.updates.hub, { state: "installing", text: `${body.version} is installed` });
    return { hub: hub.world.updates.hub };
  }],
  ["POST /v1/updates/*", (hub, { rest: [what] }) => {
    for (const one of hub.world.updates.roll_outs) one.paused = what === "pause";
    hub.emit(what === "pause" ? "ota.paused" : "ota.resumed");
    return { roll_outs: 1 };
  }],

  ["GET /v1/audit", (hub, { keys, response }) => {
    const rows = hub.world.audit;
    if (keys.get("format") === "jsonl") {
      response.writeHead(200, { "content-type": "application/jsonl", "content-disposition": 'attachment; filename="audit.jsonl"' }).end(rows.map((row) => JSON.stringify(row)).join("\n"));
      return {};
    }
    const after = keys.get("after"), before = Number(keys.get("before") ?? Infinity), event = keys.get("event"), limit = Number(keys.get("limit") ?? 50);
    const fit = rows.filter((row) => (after ? row.seq > Number(after) : row.seq < before) && (!event || row.event === event || row.event.startsWith(event + ".")) && (!keys.get("message") || row.message === keys.get("message")) && (!keys.get("actor") || row.actor === keys.get("actor")));
    return { rows: after ? fit.slice(0, limit) : fit.slice(-limit).reverse(), newest: hub.world.seq, oldest: rows[0]?.seq ?? 0 };
  }],
  ["GET /v1/figures", () => figures()],
  ["GET /v1/settings", (hub) => ({ file: "/etc/gatepost/gatepost.toml", sections: hub.world.settings })],
  ["GET /v1/files/*", (_, { response }) => {
    response.writeHead(200, { "content-type": "application/pdf", "content-disposition": "attachment" }).end("%PDF-1.4\n");
    return {};
  }],
];

function who(hub) {
  return {
    login: "l1", name: "operator", way: "code", now: iso(hub.now()), seq: hub.world.seq, version: "0.9.0", approvers: hub.web ? ["companion", "web"] : ["companion"],
    passkeys: { possible: true, rp_id: "localhost", because: null },
  };
}

function remove(list, which) {
  const at = list.findIndex(which);
  need(at >= 0);
  list.splice(at, 1);
  return {};
}

function undecided(hub, id) {
  const one = need(hub.world.approvals.find((approval) => approval.request === id));
  if (one.decided_at) throw new Refusal(409, "conflict", "it was decided meanwhile", "look at it again", "decided");
  return one;
}

const message = (hub, id) => need(hub.world.messages.find((one) => one.id === id));

function listed(hub, keys) {
  const states = keys.get("state")?.split(","), q = keys.get("q")?.toLowerCase(), limit = Number(keys.get("limit") ?? 50), from = Number(keys.get("before") ?? 0);
  const fit = hub.world.messages.filter((one) => (!states || states.includes(one.state)) && (!keys.get("agent") || one.agent === keys.get("agent")) && (!keys.get("channel") || one.to.startsWith(keys.get("channel") + ":"))
    && (!q || `${one.message} ${one.to} ${one.id} ${one.known_as ?? ""}`.toLowerCase().includes(q)));
  const row = ({ id, state, agent, to, known_as, account, accepted_at, line, files, reason, error }) => ({ id, state, agent, to, known_as, account, accepted_at, line, files, reason, error });
  return { messages: fit.slice(from, from + limit).map(row), next: from + limit < fit.length ? String(from + limit) : null };
}

/** Answers, or says nothing if there is no such call. */
export async function answer(hub, call) {
  const given = `${call.method} ${call.path}`.split("/");
  for (const [pattern, make] of CALLS) {
    const pieces = pattern.split("/");
    if (pieces.length !== given.length || !pieces.every((piece, at) => piece === "*" || piece === given[at])) continue;
    const rest = given.filter((_, at) => pieces[at] === "*").map(decodeURIComponent);
    return make(hub, { ...call, rest });
  }
  return undefined;
}
