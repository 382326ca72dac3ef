// Every call that the page makes; no other module fetches. What each takes and answers is in types.js.
//
// The cookie goes along by itself. What changes something has the page's own Origin and a JSON body, which no form of another
// site can send; the hub refuses everything else that comes with a cookie.

/** A call that the hub refused, or that did not reach it (`status` 0). */
export class Refused extends Error {
  /** @param {number} status @param {string} error @param {string} hint @param {string} reason */
  constructor(status, error, hint, reason = "") {
    super(error);
    this.status = status;
    this.hint = hint;
    this.reason = reason;
  }
}

/** Called when the login is over. */
let signedOut = () => {};
/** @param {() => void} then */
export const whenSignedOut = (then) => {
  signedOut = then;
};

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, signal?: AbortSignal | undefined, accept?: string}} [more]
 */
async function request(method, path, { body, signal, accept = "application/json" } = {}) {
  const reads = method === "GET";
  let response;
  try {
    response = await fetch(path, {
      method,
      signal: signal ?? null,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      headers: reads ? { accept } : { accept, "content-type": "application/json" },
      body: reads ? null : JSON.stringify(body ?? {})
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, "The hub does not answer.", "It may be restarting. The page tries again by itself.");
  }
  if (response.ok) return response;
  /** @type {Partial<import("./types.js").Problem>} */
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "/v1/login" && !problem.reason) signedOut();
  throw new Refused(response.status, problem.error ?? `The hub answered ${response.status}.`, problem.hint ?? "", problem.reason);
}

/** @param {object} keys */
function query(keys) {
  const given = Object.entries(keys).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? "?" + given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&") : "";
}

/** The calls: each `*` is an argument; an object after them is the query of what reads, or after a `?`, and else the body. */
const CALLS = {
  login: "GET login",
  signIn: "POST login",
  signOut: "DELETE login",
  logins: "GET logins",
  endLogin: "DELETE logins/*",
  passkeys: "GET passkeys",
  challenge: "POST passkeys/challenge",
  addPasskey: "POST passkeys",
  removePasskey: "DELETE passkeys/*",
  approvals: "GET approvals",
  approval: "GET approvals/*",
  decisionChallenge: "POST approvals/*/challenge",
  decide: "POST approvals/*/decision",
  messages: "GET messages",
  message: "GET messages/*",
  send: "POST messages",
  cancelMessage: "POST messages/*/cancel",
  retryMessage: "POST messages/*/retry?",
  settleMessage: "POST messages/*/settle",
  purgeMessage: "POST purge?",
  sessions: "GET sessions",
  transcript: "GET sessions/transcript",
  sayToAgent: "POST inbound",
  localInbox: "GET local",
  people: "GET people",
  answerAccess: "POST people/requests/*",
  turns: "GET turns",
  turn: "GET turns/*",
  operateTurn: "POST turns/*/*",
  agents: "GET agents",
  addToken: "POST agents",
  revokeToken: "DELETE agents/*",
  tryTarget: "POST agents/*/try",
  mute: "POST agents/*/mute",
  channels: "GET channels",
  guides: "GET channels/guides",
  guide: "GET channels/guides/*",
  companions: "GET companions",
  renameCompanion: "POST companions/*/rename",
  revokeCompanion: "DELETE companions/*",
  boards: "GET boards",
  pair: "POST pairing",
  answerPairing: "POST pairing/*",
  updates: "GET updates",
  rollOut: "POST updates/roll-out",
  rollOutHub: "POST updates/hub",
  restRollOuts: "POST updates/*",
  audit: "GET audit",
  figures: "GET figures",
  settings: "GET settings"
};

/** @param {string} call */
const calls =
  (call) =>
  async (/** @type {any[]} */ ...given) => {
    const [method = "", pattern = ""] = call.split(" ");
    const path = "/v1/" + pattern.replace("?", "").replace(/\*/g, () => encodeURIComponent(given.shift()));
    const signal = given.at(-1) instanceof AbortSignal ? given.pop() : undefined,
      [more = {}] = given;
    const asked = method === "GET" || pattern.endsWith("?");
    return (await request(method, path + (asked ? query(more) : ""), { body: asked ? {} : more, signal })).json();
  };

export const api = /** @type {import("./types.js").Calls} */ (
  /** @type {unknown} */ (Object.fromEntries(Object.entries(CALLS).map(([name, call]) => [name, calls(call)])))
);

/** Where a file can be had. @param {string} sha256 */
export const fileUrl = (sha256) => `/v1/files/${encodeURIComponent(sha256)}`;
export const AUDIT_EXPORT = "/v1/audit?format=jsonl";

/** What happens after the event `after`. @param {number} after @param {AbortSignal} signal */
export const events = (after, signal) => request("GET", `/v1/events?after=${after}`, { signal, accept: "text/event-stream" });
/** @param {{port: string, network?: string, password?: string}} body @param {AbortSignal} signal */
export const installBoard = (body, signal) => request("POST", "/v1/boards", { body, signal, accept: "text/event-stream" });
/** @param {AbortSignal} signal */
export const verifyAudit = (signal) => request("POST", "/v1/audit/verify", { signal, accept: "text/event-stream" });
