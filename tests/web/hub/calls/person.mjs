// Logins, passkeys, and what waits for a person.

import { randomBytes } from "node:crypto";
import { refusal, sha256, statement } from "../passkey.mjs";
import { Refusal, need, remove } from "../refusal.mjs";
import { iso } from "../time.mjs";

export default [
  [
    "POST /v1/login",
    (hub, { body, response }) => {
      if (body.code && !hub.codes.delete(body.code))
        throw new Refusal(401, "unauthorized", "this code is not good any more", "make a new one with: gatepost open", "code");
      if (body.token !== undefined && body.token !== hub.token)
        throw new Refusal(401, "unauthorized", "this is no operator's token", "", "token");
      if (body.passkey) {
        const key = need(hub.world.passkeys.find((one) => one.credential === body.passkey.credential));
        const wrong = refusal({
          assertion: body.passkey,
          challenge: hub.challenge,
          origin: hub.origin,
          rpId: "localhost",
          spki: key.public_key
        });
        if (wrong) throw new Refusal(401, "unauthorized", wrong, "", "passkey");
      }
      hub.begin(response, body.code ? "code" : body.token ? "token" : "passkey");
      return { ...who(hub), created: true };
    }
  ],
  ["GET /v1/login", who],
  [
    "DELETE /v1/login",
    (hub, { response }) => {
      hub.logins.clear();
      response.setHeader("set-cookie", "gatepost=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
      return {};
    }
  ],
  ["GET /v1/logins", (hub) => ({ logins: hub.world.logins })],
  ["DELETE /v1/logins/*", (hub, { rest: [id] }) => remove(hub.world.logins, (one) => one.login === id)],
  [
    "GET /v1/passkeys",
    (hub) => ({ passkeys: hub.world.passkeys.map(({ passkey, name, added_at, used_at }) => ({ passkey, name, added_at, used_at })) })
  ],
  [
    "POST /v1/passkeys/challenge",
    (hub) => {
      hub.challenge = randomBytes(32);
      return { challenge: hub.challenge.toString("base64url"), rp_id: "localhost", user: Buffer.alloc(16, 7).toString("base64url") };
    }
  ],
  [
    "POST /v1/passkeys",
    (hub, { body }) => {
      if (body.token !== hub.token) throw new Refusal(401, "unauthorized", "this is no operator's token", "", "token");
      const client = JSON.parse(Buffer.from(body.client_data, "base64url").toString());
      if (
        client.type !== "webauthn.create" ||
        client.origin !== hub.origin ||
        !Buffer.from(client.challenge, "base64url").equals(hub.challenge)
      )
        throw new Refusal(403, "forbidden", "this passkey was made for something else", "", "passkey");
      const passkey = {
        passkey: sha256(Buffer.from(body.credential, "base64url")).toString("hex").slice(0, 16),
        name: body.name,
        added_at: iso(hub.now()),
        used_at: null,
        credential: body.credential,
        public_key: body.public_key
      };
      hub.world.passkeys.push(passkey);
      return { passkey, created: true };
    }
  ],
  ["DELETE /v1/passkeys/*", (hub, { rest: [id] }) => remove(hub.world.passkeys, (one) => one.passkey === id)],

  [
    "GET /v1/approvals",
    (hub) => {
      const row = ({
        request,
        kind,
        message,
        agent,
        to,
        known_as,
        targets,
        line,
        files,
        asked_at,
        deadline,
        asks_at,
        state,
        decided_at,
        by
      }) => ({ request, kind, message, agent, to, known_as, targets, line, files, asked_at, deadline, asks_at, state, decided_at, by });
      const open = hub.world.approvals.filter((one) => !one.decided_at),
        by = (key) => (a, b) => a[key].localeCompare(b[key]);
      return {
        waiting: open
          .filter((one) => !one.asks_at)
          .sort(by("deadline"))
          .map(row),
        later: open
          .filter((one) => one.asks_at)
          .sort(by("asks_at"))
          .map(row),
        decided: hub.world.approvals
          .filter((one) => one.decided_at)
          .sort(by("decided_at"))
          .reverse()
          .slice(0, 50)
          .map(row)
      };
    }
  ],
  [
    "GET /v1/approvals/*",
    (hub, { rest: [id] }) => {
      const one = need(hub.world.approvals.find((approval) => approval.request === id));
      const passkeys = hub.world.passkeys.map(({ credential, name }) => ({ credential, name }));
      return { ...one, ...(hub.web && one.decided_by !== "companion" ? { web: { may: true, because: null, passkeys } } : {}) };
    }
  ],
  [
    "POST /v1/approvals/*/challenge",
    (hub, { rest: [id] }) => {
      if (!hub.web) throw new Refusal(403, "forbidden", "passkeys do not decide here", "see [approval] approvers", "web");
      undecided(hub, id);
      const nonce = randomBytes(16).toString("base64url");
      hub.nonces.set(nonce, id);
      return { nonce, hub_key: hub.key, rp_id: "localhost" };
    }
  ],
  [
    "POST /v1/approvals/*/decision",
    (hub, { rest: [id], body }) => {
      if (!hub.web) throw new Refusal(403, "forbidden", "passkeys do not decide here", "", "web");
      const one = undecided(hub, id),
        key = need(hub.world.passkeys.find((known) => known.credential === body.credential));
      if (hub.nonces.get(body.nonce) !== id)
        throw new Refusal(409, "conflict", "this decision was used already, or is too old", "decide again", "nonce");
      hub.nonces.delete(body.nonce);
      const document = sha256(Buffer.from(one.document, "base64url"));
      const what = statement({
        hub: hub.key,
        credential: Buffer.from(body.credential, "base64url"),
        request: id,
        document,
        verdict: body.verdict,
        nonce: Buffer.from(body.nonce, "base64url")
      });
      const wrong = refusal({ assertion: body, challenge: sha256(what), origin: hub.origin, rpId: "localhost", spki: key.public_key });
      if (wrong || body.document !== document.toString("hex"))
        throw new Refusal(403, "forbidden", wrong ?? "it is of another document", "", "passkey");
      hub.decide(id, body.verdict, `web:${key.name}`);
      return { verdict: body.verdict, approvals: 1, quorum: 1, state: one.state };
    }
  ]
];

function who(hub) {
  return {
    login: "l1",
    name: "operator",
    way: "code",
    now: iso(hub.now()),
    seq: hub.world.seq,
    version: "0.9.0",
    approvers: hub.web ? ["companion", "web"] : ["companion"],
    passkeys: { possible: true, rp_id: "localhost", because: null }
  };
}

function undecided(hub, id) {
  const one = need(hub.world.approvals.find((approval) => approval.request === id));
  if (one.decided_at) throw new Refusal(409, "conflict", "it was decided meanwhile", "look at it again", "decided");
  return one;
}
