// Agents, channels, companions, updates, and what is read of the hub itself.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { figures } from "../figures.mjs";
import { Refusal, need, remove } from "../refusal.mjs";
import { iso } from "../time.mjs";

export default [
  ["GET /v1/agents", (hub) => ({ agents: hub.world.agents })],
  [
    "POST /v1/agents",
    (hub, { body }) => {
      if (hub.world.agents.some((one) => one.name === body.name && one.created_at))
        throw new Refusal(409, "conflict", `${body.name} has a token`, "revoke it, or choose another name");
      const known = hub.world.agents.find((one) => one.name === body.name);
      if (known) known.created_at = iso(hub.now());
      else
        hub.world.agents.push({
          name: body.name,
          role: body.role,
          created_at: iso(hub.now()),
          configured: false,
          allow: [],
          hold: [],
          cross_context: null,
          cards: 0,
          cards_per_hour: 20,
          muted_until: null
        });
      hub.emit("token.added");
      return { name: body.name, role: body.role, token: "gp_" + randomBytes(32).toString("base64url"), configured: !!known, created: true };
    }
  ],
  [
    "DELETE /v1/agents/*",
    (hub, { rest: [name] }) => {
      const one = need(hub.world.agents.find((agent) => agent.name === name));
      one.created_at = null;
      if (!one.configured) remove(hub.world.agents, (agent) => agent === one);
      hub.emit("token.revoked");
      return {};
    }
  ],
  [
    "POST /v1/agents/*/try",
    (hub, { rest: [name], body }) => {
      const agent = need(hub.world.agents.find((one) => one.name === name));
      const fits = (pattern) => pattern === body.to || (pattern.endsWith("*") && body.to.startsWith(pattern.slice(0, -1)));
      const held = agent.hold.some(fits),
        allowed = agent.allow.some(fits);
      return {
        ok: allowed,
        dry_run: true,
        verdict: !allowed ? "deny" : held ? "hold" : "allow",
        reason: !allowed
          ? `${body.to} is not on the allowlist of ${name}`
          : held
            ? "its target is under hold"
            : "its target is under allow",
        to: body.to,
        account: "home",
        parts: []
      };
    }
  ],
  [
    "POST /v1/agents/*/mute",
    (hub, { rest: [name], body }) => {
      const one = need(hub.world.agents.find((agent) => agent.name === name));
      one.muted_until = body.seconds ? iso(hub.now() + body.seconds * 1000) : null;
      hub.emit(body.seconds ? "agent.muted" : "agent.unmuted");
      return { muted_until: one.muted_until };
    }
  ],
  ["GET /v1/channels", (hub) => ({ ok: hub.world.channels.every((one) => one.ready), channels: hub.world.channels })],
  ["GET /v1/channels/guides", (hub) => ({ guides: hub.world.guides })],
  [
    "GET /v1/channels/guides/*",
    async (hub, { rest: [channel] }) => {
      const guide = await readFile(
        new URL(
          `../../../../daemon/src/channels/${need(hub.world.guides.find((one) => one.channel === channel)).channel}/SETUP.md`,
          import.meta.url
        ),
        "utf8"
      );
      return { ...hub.world.guides.find((one) => one.channel === channel), guide };
    }
  ],
  ["GET /v1/companions", (hub) => ({ companions: hub.world.companions, broker: { connected: true, reason: null } })],
  [
    "POST /v1/companions/*/rename",
    (hub, { rest: [name], body }) => {
      need(hub.world.companions.find((one) => one.name === name)).name = body.name;
      hub.emit("device.renamed");
      return {};
    }
  ],
  [
    "DELETE /v1/companions/*",
    (hub, { rest: [name] }) => {
      need(hub.world.companions.find((one) => one.name === name)).revoked_at = iso(hub.now());
      hub.emit("device.revoked");
      return { withdrawn: 0, left: 1, quorum: 1 };
    }
  ],
  ["GET /v1/boards", () => ({ ports: ["/dev/serial/by-id/usb-Espressif_USB_JTAG_serial-if00"], broker: "192.168.1.20:1883" })],
  [
    "POST /v1/pairing",
    async (hub) => {
      await new Promise((done) => setTimeout(done, hub.frozen ? 20 : 150));
      return { code: "407912", key: "z3qt", kind: "device", expires_in_s: 60 };
    }
  ],
  [
    "POST /v1/pairing/*",
    (hub, { rest: [code], body }) => {
      if (!body.same || code !== "407912")
        throw new Refusal(409, "conflict", "the numbers were not the same: nobody was paired", "begin again");
      hub.world.companions.push({
        ...structuredClone(hub.world.companions[0]),
        name: body.name ?? "companion",
        key: "z3qt",
        added_at: iso(hub.now()),
        decided_at: null,
        decided: null,
        today: { approved: 0, denied: 0 }
      });
      hub.emit("device.added");
      return { companion: { name: body.name ?? "companion", key: "z3qt", kind: "device" } };
    }
  ],
  [
    "GET /v1/updates",
    (hub) => ({ ...hub.world.updates, companions: hub.world.companions.map(({ name, firmware, update }) => ({ name, firmware, update })) })
  ],
  [
    "POST /v1/updates/roll-out",
    (hub, { body }) => {
      hub.emit("ota.rolled_out");
      return { version: body.version, boards: ["esp32c3"], resumed: [] };
    }
  ],
  [
    "POST /v1/updates/hub",
    (hub) => {
      hub.world.updates.hub.update = {
        state: "installing",
        text: "0.9.1 is installed",
        from: "0.9.0",
        to: "0.9.1",
        percent: 40,
        since: iso(hub.now())
      };
      return { hub: hub.world.updates.hub };
    }
  ],
  [
    "POST /v1/updates/*",
    (hub, { rest: [what] }) => {
      for (const one of hub.world.updates.roll_outs) one.paused = what === "pause";
      hub.emit(what === "pause" ? "ota.paused" : "ota.resumed");
      return { roll_outs: 1 };
    }
  ],

  [
    "GET /v1/audit",
    (hub, { keys, response }) => {
      const rows = hub.world.audit;
      if (keys.get("format") === "jsonl") {
        response
          .writeHead(200, { "content-type": "application/jsonl", "content-disposition": 'attachment; filename="audit.jsonl"' })
          .end(rows.map((row) => JSON.stringify(row)).join("\n"));
        return {};
      }
      const after = keys.get("after"),
        before = Number(keys.get("before") ?? Infinity),
        event = keys.get("event"),
        limit = Number(keys.get("limit") ?? 50);
      const fit = rows.filter(
        (row) =>
          (after ? row.seq > Number(after) : row.seq < before) &&
          (!event || row.event === event || row.event.startsWith(event + ".")) &&
          (!keys.get("message") || row.message === keys.get("message")) &&
          (!keys.get("actor") || row.actor === keys.get("actor"))
      );
      const some = after ? fit.slice(0, limit) : fit.slice(-limit).reverse(),
        next = fit.length > limit ? some.at(-1).seq : null;
      return { rows: some, newest: hub.world.seq, oldest: rows[0]?.seq ?? 0, next };
    }
  ],
  ["GET /v1/figures", () => figures()],
  ["GET /v1/settings", (hub) => ({ file: "/etc/gatepost/gatepost.toml", sections: hub.world.settings })],
  [
    "GET /v1/files/*",
    (_, { response }) => {
      response.writeHead(200, { "content-type": "application/pdf", "content-disposition": "attachment" }).end("%PDF-1.4\n");
      return {};
    }
  ]
];
