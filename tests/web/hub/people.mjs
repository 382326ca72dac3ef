// Who speaks with whom in the house: conversations, turns, and somebody who asks to be let in.

import { HOUR, MIN, NOON, iso } from "./time.mjs";

export function people() {
  const session = (agent, name, place, ago) => ({
    agent,
    session: name,
    places: [place],
    opened_by: "tg:123456789",
    at: iso(NOON - 50 * HOUR),
    last_at: iso(NOON - ago * MIN)
  });
  const line = (ago, mine, who, text) => ({
    at: iso(NOON - ago * MIN),
    kind: "message",
    mine,
    place: "telegram:-1001234567890",
    scope: "owner",
    text,
    who
  });
  return {
    sessions: [
      session("housekeeper", "family", "telegram:-1001234567890", 3),
      session("engineer", "main", "local:me", 22),
      session("assistant", "ann", "telegram:123456789", 260)
    ],
    lines: {
      "housekeeper family": [
        line(46, false, "Ann", "Are we out of milk?"),
        line(45, true, "housekeeper", "Yes, since this morning. I have put milk and oat drink on the list."),
        line(12, false, "Ben", "dishwasher salt too please"),
        line(3, true, "housekeeper", "Added. Shall I order for tomorrow?")
      ],
      "engineer main": [
        { ...line(24, false, "me", "How far is 2.4?"), place: "local:me" },
        {
          ...line(22, true, "engineer", "All checks are green. I have asked to announce it in release-room; that message waits for you."),
          place: "local:me"
        }
      ],
      "assistant ann": [
        line(262, false, "Ann", "Please move Thursday’s appointment."),
        line(260, true, "assistant", "I have written to the practice.")
      ]
    },
    local: [
      {
        seq: 1,
        address: "me",
        at: iso(NOON - 22 * MIN),
        text: "All checks are green. I have asked to announce it in release-room; that message waits for you.",
        thread: null
      }
    ],
    requests: [
      {
        code: "K7QX",
        what: "person",
        subject: "tg:555000111",
        channel: "telegram",
        account: "home",
        address: "555000111",
        agent: "assistant",
        name: "Charlie",
        at: iso(NOON - 8 * MIN),
        expires_at: iso(NOON + 22 * HOUR)
      }
    ],
    turns: [
      {
        turn: "t01",
        agent: "engineer",
        session: "main",
        cause: "message",
        scope: "owner",
        state: "leased",
        target: "local:me",
        attempts: 1,
        outcome: null,
        at: iso(NOON - 1 * MIN),
        due_at: iso(NOON - 1 * MIN),
        ended_at: null
      },
      {
        turn: "t02",
        agent: "housekeeper",
        session: "family",
        cause: "message",
        scope: "known",
        state: "done",
        target: "telegram:-1001234567890",
        attempts: 1,
        outcome: "replied",
        at: iso(NOON - 12 * MIN),
        due_at: iso(NOON - 12 * MIN),
        ended_at: iso(NOON - 11 * MIN)
      },
      {
        turn: "t03",
        agent: "assistant",
        session: "ann",
        cause: "task",
        scope: "owner",
        state: "failed",
        target: "telegram:123456789",
        attempts: 4,
        outcome: "the agent’s program ended without an answer",
        at: iso(NOON - 95 * MIN),
        due_at: iso(NOON - 95 * MIN),
        ended_at: iso(NOON - 80 * MIN)
      },
      {
        turn: "t04",
        agent: "engineer",
        session: "main",
        cause: "heartbeat",
        scope: "owner",
        state: "done",
        target: null,
        attempts: 1,
        outcome: "nothing to do",
        at: iso(NOON - 130 * MIN),
        due_at: iso(NOON - 130 * MIN),
        ended_at: iso(NOON - 129 * MIN)
      }
    ],
    items: { id: "i1", kind: "message", text: "How far is 2.4?", sender: { id: "local:me", name: "me", scope: "owner" }, files: [] }
  };
}
