// Every call that the page makes; no other module fetches. Shapes are in types.js.
//
// The cookie goes along by itself. What changes something has the page's own Origin and a JSON body, which no form of another
// site can send; the hub refuses everything else that comes with a cookie.

/** @typedef {import("./types.js").Problem} Problem */

/** A call that the hub refused, or that did not reach it (`status` 0). */
export class Refused extends Error {
  /** @param {number} status @param {string} error @param {string} hint @param {string} [reason] */
  constructor(status, error, hint, reason) {
    super(error);
    this.status = status;
    this.hint = hint;
    this.reason = reason ?? "";
  }
}

/** Called when the login is over. */
let signedOut = () => {};
/** @param {() => void} then */
export function whenSignedOut(then) {
  signedOut = then;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, signal?: AbortSignal, accept?: string}} [with_]
 * @returns {Promise<Response>}
 */
async function request(method, path, { body, signal, accept } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: accept ?? "application/json" };
  if (method !== "GET") headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal: signal ?? null, cache: "no-store", credentials: "same-origin", redirect: "error",
      body: method === "GET" ? null : JSON.stringify(body ?? {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, "The hub does not answer.", "It may be restarting. The page tries again by itself.");
  }
  if (response.ok) return response;
  /** @type {Partial<Problem>} */
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "/v1/login" && !problem.reason) signedOut();
  throw new Refused(response.status, problem.error ?? `The hub answered ${response.status}.`, problem.hint ?? "", problem.reason);
}

/** @template T @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
const get = async (path, signal) => (await request("GET", path, signal ? { signal } : {})).json();
/** @template T @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<T>} */
const post = async (path, body, signal) => (await request("POST", path, signal ? { body, signal } : { body })).json();
/** @param {string} path @returns {Promise<{ok: true}>} */
const remove = async (path) => (await request("DELETE", path)).json();

const enc = encodeURIComponent;
/** @param {Record<string, string | number | undefined | null>} keys */
function query(keys) {
  const given = Object.entries(keys).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? "?" + given.map(([key, value]) => `${key}=${enc(String(value))}`).join("&") : "";
}

// ---- logins, passkeys
/** @returns {Promise<import("./types.js").Login>} */
export const login = () => get("/v1/login");
/** @param {import("./types.js").Credential} credential @returns {Promise<import("./types.js").Login>} */
export const signIn = (credential) => post("/v1/login", credential);
export const signOut = () => remove("/v1/login");
/** @returns {Promise<{logins: import("./types.js").OpenLogin[]}>} */
export const logins = () => get("/v1/logins");
/** @param {string} id */
export const endLogin = (id) => remove(`/v1/logins/${enc(id)}`);
/** @returns {Promise<{passkeys: import("./types.js").Passkey[]}>} */
export const passkeys = () => get("/v1/passkeys");
/** @param {"login" | "add"} purpose @returns {Promise<import("./types.js").Challenge>} */
export const challenge = (purpose) => post("/v1/passkeys/challenge", { for: purpose });
/** @param {import("./types.js").NewPasskey} passkey @returns {Promise<{passkey: import("./types.js").Passkey}>} */
export const addPasskey = (passkey) => post("/v1/passkeys", passkey);
/** @param {string} id */
export const removePasskey = (id) => remove(`/v1/passkeys/${enc(id)}`);

// ---- what waits
/** @returns {Promise<import("./types.js").Approvals>} */
export const approvals = () => get("/v1/approvals");
/** @param {string} id @returns {Promise<import("./types.js").Approval>} */
export const approval = (id) => get(`/v1/approvals/${enc(id)}`);
/** @param {string} id @returns {Promise<import("./types.js").DecisionChallenge>} */
export const decisionChallenge = (id) => post(`/v1/approvals/${enc(id)}/challenge`);
/** @param {string} id @param {import("./types.js").Decision} decision @returns {Promise<import("./types.js").Decided>} */
export const decide = (id, decision) => post(`/v1/approvals/${enc(id)}/decision`, decision);
/** Where a file can be had. @param {string} sha256 */
export const fileUrl = (sha256) => `/v1/files/${enc(sha256)}`;

// ---- messages
/**
 * @param {{state?: string, agent?: string, channel?: string, q?: string, before?: string | null, limit?: number}} filter
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("./types.js").Messages>}
 */
export const messages = (filter, signal) => get("/v1/messages" + query(filter), signal);
/** @param {string} id @returns {Promise<import("./types.js").Whole>} */
export const message = (id) => get(`/v1/messages/${enc(id)}`);
/** @param {string} id */
export const cancelMessage = (id) => post(`/v1/messages/${enc(id)}/cancel`);
/** @param {string} id @param {boolean} mayDuplicate */
export const retryMessage = (id, mayDuplicate) => post(`/v1/messages/${enc(id)}/retry${mayDuplicate ? "?mayDuplicate=true" : ""}`);
/** @param {string} id @param {{arrived: boolean, part?: number, reason: string}} settlement */
export const settleMessage = (id, settlement) => post(`/v1/messages/${enc(id)}/settle`, settlement);
/** @param {string} id */
export const purgeMessage = (id) => post("/v1/purge" + query({ id }));
/** A message of the operator's own. @param {{channel: string, accountId: string, to: string, message: string}} call @returns {Promise<{id: string, state: string}>} */
export const send = (call) => post("/v1/messages", call);

// ---- conversations, turns, people
/** @param {string} [agent] @returns {Promise<{sessions: import("./types.js").Session[]}>} */
export const sessions = (agent) => get("/v1/sessions" + query({ agent, limit: 200 }));
/** @param {string} agent @param {string} session @returns {Promise<{lines: import("./types.js").SessionLine[]}>} */
export const transcript = (agent, session) => get("/v1/sessions/transcript" + query({ agent, session, limit: 200 }));
/** @param {number} after @returns {Promise<{arrived: import("./types.js").Arrived[]}>} */
export const localInbox = (after) => get("/v1/local" + query({ after }));
/** Says something to an agent, as somebody at the `local` inbox. @param {string} agent @param {string} session @param {string} peer @param {string} text */
export const sayToAgent = (agent, session, peer, text) => post("/v1/inbound", { agent, session, channel: "local", peer, sender: peer, text });
/** @returns {Promise<{requests: import("./types.js").AccessRequest[]}>} */
export const people = () => get("/v1/people");
/** @param {string} code @param {boolean} allow */
export const answerAccess = (code, allow) => post(`/v1/people/requests/${enc(code)}`, { allow });
/** @param {{agent?: string, state?: string}} filter @returns {Promise<{turns: import("./types.js").TurnRow[]}>} */
export const turns = (filter) => get("/v1/turns" + query({ ...filter, limit: 200 }));
/** @param {string} id @returns {Promise<import("./types.js").ShownTurn>} */
export const turn = (id) => get(`/v1/turns/${enc(id)}`);
/** @param {string} id @param {"retry" | "drop"} what */
export const operateTurn = (id, what) => post(`/v1/turns/${enc(id)}/${what}`);

// ---- agents, channels, companions, updates
/** @returns {Promise<{agents: import("./types.js").AgentView[]}>} */
export const agents = () => get("/v1/agents");
/** @param {string} name @param {string} role @returns {Promise<import("./types.js").Added>} */
export const addToken = (name, role) => post("/v1/agents", { name, role });
/** @param {string} name */
export const revokeToken = (name) => remove(`/v1/agents/${enc(name)}`);
/** @param {string} name @param {{to: string, origin?: string}} what @returns {Promise<import("./types.js").DryRun>} */
export const tryTarget = (name, what) => post(`/v1/agents/${enc(name)}/try`, what);
/** @param {string} name @param {number} seconds @returns {Promise<{muted_until: string | null}>} */
export const mute = (name, seconds) => post(`/v1/agents/${enc(name)}/mute`, { seconds });
/** @param {boolean} [fresh] @returns {Promise<{ok: boolean, channels: import("./types.js").Ready[]}>} */
export const channels = (fresh) => get("/v1/channels" + (fresh ? "?fresh=true" : ""));
/** @returns {Promise<{guides: {channel: string, account: string}[]}>} */
export const guides = () => get("/v1/channels/guides");
/** @param {string} channel @returns {Promise<import("./types.js").ChannelGuide>} */
export const guide = (channel) => get(`/v1/channels/guides/${enc(channel)}`);
/** @returns {Promise<{companions: import("./types.js").Companion[], broker: {connected: boolean, reason: string | null}}>} */
export const companions = () => get("/v1/companions");
/** @param {string} which @param {string} name */
export const renameCompanion = (which, name) => post(`/v1/companions/${enc(which)}/rename`, { name });
/** @param {string} which @returns {Promise<{withdrawn: number, left: number, quorum: number}>} */
export const revokeCompanion = async (which) => (await request("DELETE", `/v1/companions/${enc(which)}`)).json();
/** Waits up to a minute for a device. @param {AbortSignal} signal @returns {Promise<import("./types.js").Offered>} */
export const pair = (signal) => post("/v1/pairing", {}, signal);
/** @param {string} code @param {boolean} same @param {string} [name] @returns {Promise<{companion: {name: string}}>} */
export const answerPairing = (code, same, name) => post(`/v1/pairing/${enc(code)}`, name ? { same, name } : { same });
/** @returns {Promise<import("./types.js").Updates>} */
export const updates = () => get("/v1/updates");
/** @param {{version: string, board?: string, to?: string[]}} order @returns {Promise<{boards: string[]}>} */
export const rollOut = (order) => post("/v1/updates/roll-out", order);
/** @param {"pause" | "resume"} what */
export const restRollOuts = (what) => post(`/v1/updates/${what}`);
/** Rolls the hub's own program out. @param {string} version */
export const rollOutHub = (version) => post("/v1/updates/hub", { version });

// ---- audit, figures, settings
/** @param {{after?: number, before?: number, event?: string, actor?: string, message?: string, limit?: number}} filter @returns {Promise<import("./types.js").Audit>} */
export const audit = (filter) => get("/v1/audit" + query(filter));
export const auditExport = "/v1/audit?format=jsonl";
/** @returns {Promise<import("./types.js").Figures>} */
export const figures = () => get("/v1/figures");
/** @returns {Promise<import("./types.js").Settings>} */
export const settings = () => get("/v1/settings");

// ---- streams
/** What happens after the event `after`. @param {number} after @param {AbortSignal} signal */
export const events = (after, signal) => request("GET", `/v1/events?after=${after}`, { signal, accept: "text/event-stream" });
/** @param {AbortSignal} signal */
export const verifyAudit = (signal) => request("POST", "/v1/audit/verify", { signal, accept: "text/event-stream" });
