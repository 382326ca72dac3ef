// Messages, conversations and turns.

import { createHash } from "node:crypto";
import { Refusal, need, remove } from "../refusal.mjs";
import { iso } from "../time.mjs";

export default [
  ["GET /v1/messages", (hub, { keys }) => listed(hub, keys)],
  // A receipt leaves out what there is not to say.
  [
    "GET /v1/messages/*",
    (hub, { rest: [id] }) => ({
      ...message(hub, id),
      reason: message(hub, id).reason ?? undefined,
      error: message(hub, id).error ?? undefined
    })
  ],
  [
    "POST /v1/messages/*/cancel",
    (hub, { rest: [id] }) => {
      const one = message(hub, id),
        card = hub.world.approvals.find((approval) => approval.message === id);
      Object.assign(one, { state: "cancelled", ended_at: iso(hub.now()) });
      if (card) Object.assign(card, { state: "cancelled", decided_at: iso(hub.now()) });
      hub.emit("message.cancelled", id, { actor: "operator:operator" });
      return one;
    }
  ],
  [
    "POST /v1/messages/*/retry",
    (hub, { rest: [id], keys }) => {
      const one = message(hub, id);
      if (one.state === "unknown" && !keys.has("mayDuplicate"))
        throw new Refusal(409, "conflict", "it may have arrived", "say mayDuplicate");
      Object.assign(one, { state: "ready", error: null, ended_at: null });
      hub.emit("message.ready", id, { actor: "operator:operator" });
      return one;
    }
  ],
  [
    "POST /v1/messages/*/settle",
    (hub, { rest: [id], body }) => Object.assign(message(hub, id), { state: body.arrived ? "sent" : "ready" })
  ],
  [
    "POST /v1/messages",
    (_, { body }) => ({
      id: "m" + createHash("sha256").update(body.message).digest("hex").slice(0, 32),
      state: "sent",
      to: `${body.channel}:${body.to}`
    })
  ],
  [
    "POST /v1/purge",
    (hub, { keys }) => {
      remove(hub.world.messages, (one) => one.id === keys.get("id"));
      hub.emit("queue.purged", null, { actor: "operator:operator" });
      return { purged: 1, more: false };
    }
  ],

  ["GET /v1/sessions", (hub) => ({ sessions: hub.world.sessions })],
  ["GET /v1/sessions/transcript", (hub, { keys }) => ({ lines: hub.world.lines[`${keys.get("agent")} ${keys.get("session")}`] ?? [] })],
  ["GET /v1/local", (hub, { keys }) => ({ arrived: hub.world.local.slice(-Number(keys.get("last"))) })],
  [
    "POST /v1/inbound",
    (hub, { body }) => {
      hub.world.lines[`${body.agent} ${body.session}`]?.push({
        at: iso(hub.now()),
        kind: "message",
        mine: false,
        place: `local:${body.peer}`,
        text: body.text,
        who: body.sender
      });
      hub.emit("turn.waiting", null, { detail: { agent: body.agent } });
      return { context: "c", created: true };
    }
  ],
  ["GET /v1/people", (hub) => ({ people: [], requests: hub.world.requests })],
  [
    "POST /v1/people/requests/*",
    (hub, { rest: [code], body }) => {
      remove(hub.world.requests, (one) => one.code === code);
      hub.emit("access.decided", null, { detail: body });
      return {};
    }
  ],
  ["GET /v1/turns", (hub, { keys }) => ({ turns: hub.world.turns.filter((one) => !keys.get("state") || one.state === keys.get("state")) })],
  [
    "GET /v1/turns/*",
    (hub, { rest: [id] }) => {
      const one = need(hub.world.turns.find((turn) => turn.turn === id));
      return { ...one, items: one.cause === "message" ? [{ ...hub.world.items, at: one.at }] : [] };
    }
  ],
  [
    "POST /v1/turns/*/*",
    (hub, { rest: [id, what] }) => {
      Object.assign(need(hub.world.turns.find((turn) => turn.turn === id)), {
        state: what === "retry" ? "waiting" : "done",
        ended_at: null
      });
      hub.emit("turn.retried");
      return { again: what === "retry" };
    }
  ]
];

const message = (hub, id) => need(hub.world.messages.find((one) => one.id === id));

function listed(hub, keys) {
  const states = keys.get("state")?.split(","),
    q = keys.get("q")?.toLowerCase(),
    limit = Number(keys.get("limit") ?? 50),
    from = Number(keys.get("before") ?? 0);
  const fit = hub.world.messages.filter(
    (one) =>
      (!states || states.includes(one.state)) &&
      (!keys.get("agent") || one.agent === keys.get("agent")) &&
      (!keys.get("channel") || one.to.startsWith(keys.get("channel") + ":")) &&
      (!q || `${one.message} ${one.to} ${one.id} ${one.known_as ?? ""}`.toLowerCase().includes(q))
  );
  const row = ({ id, state, agent, to, known_as, account, accepted_at, line, files, reason, error }) => ({
    id,
    state,
    agent,
    to,
    known_as,
    account,
    accepted_at,
    line,
    files,
    reason,
    error
  });
  return { messages: fit.slice(from, from + limit).map(row), next: from + limit < fit.length ? String(from + limit) : null };
}
