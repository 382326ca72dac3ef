// The words for what becomes of a message, the same on every screen.

/** @type {Record<string, [string, string]>} */
const OUTCOMES = {
  accepted: ["accepted", ""], held: ["waits for you", "wait"], ready: ["queued", ""], sending: ["on its way", ""], sent: ["arrived", "sent"],
  failed: ["failed", "no"], denied: ["denied", "no"], expired: ["expired", "no"], cancelled: ["taken back", ""], unknown: ["not known", "wait"],
};
/** The word and the colour of a state. @param {string} state */
export const outcome = (state) => OUTCOMES[state] ?? [state, ""];

/** @type {Record<string, string>} */
const PARTS = { planned: "not sent yet", in_flight: "on its way", confirmed: "arrived", failed: "did not arrive", unknown: "not known" };
/** @param {string} state */
export const partOutcome = (state) => PARTS[state] ?? state;

/** What an event of the audit says, for people; what is not here is shown by its own word. @type {Record<string, string>} */
const EVENTS = {
  "message.accepted": "accepted", "message.held": "held for a person", "message.ready": "queued", "message.sending": "on its way", "message.sent": "arrived",
  "message.failed": "failed", "message.denied": "denied", "message.expired": "expired", "message.cancelled": "taken back", "message.unknown": "outcome not known",
  "message.hooked": "hooks are through with it", "decision.asked": "people are asked now", "decision.counted": "approved, not the last approval that it needs",
  "decision.rejected": "a decision was refused", "decision.withdrawn": "an approval was withdrawn", "part.settled": "an operator said what became of a part",
  "part.undelivered": "the platform did not deliver it", "hook.failed": "a hook failed", "queue.purged": "messages were removed", "call.refused": "a call was refused",
  "token.added": "a token was made", "token.revoked": "a token was revoked", "device.added": "a companion was paired", "device.revoked": "a companion was revoked",
  "device.renamed": "a companion has another name", "device.display": "a companion’s display changed", "device.cloned": "two devices have the same keys",
  "pairing.failed": "nobody was paired", "link.refused": "something was refused in a companion’s name", "configuration.reloaded": "another configuration holds",
  "ota.added": "a release was added", "ota.rolled_out": "a release is rolled out", "ota.offered": "a release was offered", "ota.installed": "a release was installed",
  "ota.confirmed": "a release proved itself", "ota.went_back": "a companion went back", "ota.refused": "a release was refused", "ota.paused": "roll-outs rest",
  "ota.resumed": "roll-outs go on", "turn.waiting": "a turn waits", "turn.ended": "a turn ended", "turn.failed": "a turn failed", "turn.retried": "a turn waits again",
  "access.requested": "somebody asks to be let in", "access.decided": "somebody was let in, or not", "clock.settled": "the hub’s clock is settled", "hub.restored": "a backup was restored",
  "audit.began": "the audit began", "context.issued": "a context was issued", "form.entered": "somebody filled a form", "task.scheduled": "a task was scheduled",
  "task.due": "a task was due", "task.cancelled": "a task was taken back", "login.began": "somebody signed in", "login.ended": "somebody signed out",
  "passkey.added": "a passkey was added", "passkey.removed": "a passkey was removed", "agent.muted": "an agent was muted", "agent.unmuted": "an agent is not muted any more",
};
/** @param {string} event */
export const eventWords = (event) => EVENTS[event] ?? event;
