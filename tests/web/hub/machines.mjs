// The house's agents, channels, companions and updates, and who is signed in.

import { SETTINGS } from "./settings.mjs";
import { HOUR, MIN, NOON, hash, iso } from "./time.mjs";

export function machines() {
  const agent = (name, more = {}) => ({
    name,
    role: "agent",
    created_at: iso(NOON - 400 * HOUR),
    configured: true,
    allow: [],
    hold: [],
    cross_context: "hold",
    cards: 0,
    cards_per_hour: 20,
    muted_until: null,
    ...more
  });
  const ready = (channel, said, more = {}) => ({
    channel,
    account: "home",
    mode: "direct",
    ready: true,
    said,
    limits: "4,096 characters, files of 50 MB",
    last_sent_at: iso(NOON - 14 * MIN),
    receives: false,
    ...more
  });
  return {
    agents: [
      agent("engineer", { allow: ["slack:channel:C0123ABC", "telegram:*", "local:*"], hold: ["slack:*"], cards: 3 }),
      agent("assistant", { allow: ["email:*", "telegram:123456789"], hold: ["email:*"], cards: 2 }),
      agent("housekeeper", { allow: ["telegram:-1001234567890"], cards: 20, muted_until: iso(NOON + 35 * MIN) }),
      agent("gardener", { created_at: null, allow: ["matrix:!garden:example.org"], cross_context: "deny" }),
      agent("operator", { role: "operator", configured: false, cross_context: null, cards_per_hour: 0 }),
      agent("prometheus", { role: "monitor", configured: false, cross_context: null, cards_per_hour: 0 })
    ],
    channels: [
      ready("telegram", "@my_house_bot", { receives: true, hearing: { ready: true, standing: "receives" } }),
      ready("slack", "gatepost in Hale & Sons", {
        account: "work",
        limits: "3,000 characters a block, files of 1 GB",
        last_sent_at: iso(NOON - 95 * MIN)
      }),
      ready("email", "ann@hale.example by mail.hale.example", { limits: "no limit of the text, files of 25 MB" }),
      ready("matrix", "@gatepost:example.org", {
        receives: true,
        hearing: { ready: true, standing: "receives" },
        limits: "64 KB a message",
        last_sent_at: null
      }),
      ready("ntfy", "cannot connect to ntfy.sh: the name does not resolve", {
        ready: false,
        limits: "4,096 bytes",
        last_sent_at: iso(NOON - 30 * HOUR)
      }),
      ready("local", "the hub’s own inbox", { limits: "64 KB a message" })
    ],
    guides: [
      "local:the hub’s own inbox",
      "email:mail through your own mail server",
      "matrix:an account on a Matrix homeserver",
      "telegram:a bot",
      "discord:a bot",
      "slack:a bot in one workspace",
      "googlechat:a Chat app, or the webhook of one space",
      "teams:a bot, or the webhook of a workflow",
      "signal:an account of signal-cli",
      "whatsapp:Meta’s Cloud API, a phone’s session, or both",
      "imessage:a Mac with BlueBubbles, or with imsg",
      "webhook:signed JSON to an address of yours",
      "ntfy:notifications on phones and desktops"
    ].map((one) => ({ channel: one.slice(0, one.indexOf(":")), account: one.slice(one.indexOf(":") + 1) })),
    companions: [
      {
        name: "shelf",
        key: "k7m2",
        public_key: hash("shelf"),
        kind: "device",
        added_at: iso(NOON - 900 * HOUR),
        seen_at: iso(NOON),
        decided_at: iso(NOON - 2 * MIN),
        decided: "approve",
        today: { approved: 7, denied: 1 },
        shows: null,
        revoked_at: null,
        online: true,
        able: true,
        unable_because: null,
        firmware: { board: "esp32c3", version: "0.2.0", state: "settled" },
        update: null
      },
      {
        name: "hall",
        key: "p9xd",
        public_key: hash("hall"),
        kind: "device",
        added_at: iso(NOON - 20 * HOUR),
        seen_at: iso(NOON - 150 * MIN),
        decided_at: iso(NOON - 15 * HOUR),
        decided: "deny",
        today: { approved: 1, denied: 0 },
        shows: null,
        revoked_at: null,
        online: false,
        able: false,
        unable_because: "it is not connected",
        firmware: { board: "esp32c6", version: "0.2.0", state: "settled" },
        update: null
      }
    ],
    updates: {
      root: 1,
      warnings: [],
      releases: [
        {
          board: "esp32c3",
          version: "0.3.0",
          floor: "0.1.0",
          size: 912_384,
          image: hash("c3"),
          root: 1,
          added_at: iso(NOON - 5 * HOUR),
          expires_at: iso(NOON + 2000 * HOUR),
          rolled_out: false,
          newest: true
        },
        {
          board: "esp32c6",
          version: "0.3.0",
          floor: "0.1.0",
          size: 940_112,
          image: hash("c6"),
          root: 1,
          added_at: iso(NOON - 5 * HOUR),
          expires_at: iso(NOON + 2000 * HOUR),
          rolled_out: true,
          newest: true
        },
        {
          board: "esp32c3",
          version: "0.2.0",
          floor: "0.1.0",
          size: 899_002,
          image: hash("c3 old"),
          root: 1,
          added_at: iso(NOON - 700 * HOUR),
          expires_at: iso(NOON + 900 * HOUR),
          rolled_out: true,
          newest: false
        }
      ],
      roll_outs: [
        {
          board: "esp32c6",
          version: "0.3.0",
          at: iso(NOON - 4 * HOUR),
          by: "operator",
          companions: 1,
          confirmed: 0,
          paused: false,
          now: false,
          again: false,
          to: []
        }
      ],
      companions: [],
      hub: {
        version: "0.9.0",
        installed_as: "package",
        update: {
          state: "installed",
          text: "0.9.0 is installed, and the hub is well",
          from: "0.8.2",
          to: "0.9.0",
          since: iso(NOON - 30 * HOUR)
        }
      }
    },
    passkeys: [],
    logins: [
      {
        login: "l1",
        name: "operator",
        way: "code",
        browser: "Chromium on Linux",
        from: "127.0.0.1",
        began_at: iso(NOON - 3 * HOUR),
        seen_at: iso(NOON),
        expires_at: iso(NOON + 717 * HOUR),
        this_one: true
      },
      {
        login: "l2",
        name: "operator",
        way: "passkey",
        browser: "Safari on iPhone",
        from: "192.168.1.23",
        began_at: iso(NOON - 80 * HOUR),
        seen_at: iso(NOON - 9 * HOUR),
        expires_at: iso(NOON + 700 * HOUR),
        this_one: false
      }
    ],
    settings: SETTINGS
  };
}
