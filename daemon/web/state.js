// The words for what becomes of a message, the same on every screen.

/** @type {Record<string, [string, string]>} */
const OUTCOMES = {
  accepted: ["accepted", ""],
  held: ["waits for you", "wait"],
  ready: ["queued", ""],
  sending: ["on its way", ""],
  sent: ["arrived", "sent"],
  failed: ["failed", "no"],
  denied: ["denied", "no"],
  expired: ["expired", "no"],
  cancelled: ["taken back", ""],
  unknown: ["not known", "wait"]
};
/** The word and the colour of a state. @param {string} state */
export const outcome = (state) => OUTCOMES[state] ?? [state, ""];

/** @type {Record<string, string>} */
const PARTS = { planned: "not sent yet", in_flight: "on its way", confirmed: "arrived", failed: "did not arrive", unknown: "not known" };
/** @param {string} state */
export const partOutcome = (state) => PARTS[state] ?? state;

/** What an event of the audit says, where its own word says less. @type {Record<string, string>} */
const EVENTS = {
  "message.held": "held for a person",
  "message.ready": "queued",
  "message.sending": "on its way",
  "message.sent": "arrived",
  "message.cancelled": "taken back",
  "message.unknown": "outcome not known",
  "message.hooked": "hooks are through with it",
  "decision.asked": "people are asked now",
  "decision.counted": "approved, and more approvals are needed",
  "part.settled": "an operator said what became of a part",
  "part.undelivered": "the platform did not deliver it",
  "queue.purged": "messages were removed",
  "call.refused": "a call was refused",
  "device.added": "a companion was paired",
  "device.revoked": "a companion was revoked",
  "device.renamed": "a companion was renamed",
  "device.display": "a companion’s display changed",
  "device.cloned": "two devices have the same keys",
  "link.refused": "something was refused in a companion’s name",
  "configuration.reloaded": "another configuration holds",
  "access.requested": "somebody asks to be let in",
  "access.decided": "somebody was let in, or not",
  "hub.restored": "a backup was restored",
  "login.began": "somebody signed in",
  "login.ended": "somebody signed out"
};
/** @param {string} event */
export const eventWords = (event) => EVENTS[event] ?? event.replace(/^message\./, "").replace(/[._]/g, " ");
