// Shapes of what the hub takes and answers, for the type checker alone: nothing imports this at run time and the hub does not
// serve it. Where `/openapi.json` has a schema of the same name, it is that schema, cut down to the members that the page reads.
//
// All times are RFC 3339 in UTC with milliseconds. `Hex` is lower case. `Bytes` is base64url without padding (RFC 4648, 5).
// Every refusal is an RFC 9457 problem with `code`, `error` and `hint`.

/** @typedef {string} Time */
/** @typedef {string} Hex */
/** @typedef {string} Bytes */

/**
 * @typedef {object} Problem
 * @property {false} ok
 * @property {number} status
 * @property {string} code as in receipts: `not_found`, `conflict`, `unauthorized`, …
 * @property {string} error
 * @property {string} hint
 * @property {string} [reason]
 */

/**
 * `GET /v1/events?after=SEQ`: as it is for everybody, with the cookie too. Each event's `id` is its number, its name the audit's word
 * for it, and its data has at least this. `missed` says that some are gone; the page then reads everything anew. Words that are only
 * there with the page: `login.began`, `login.ended`, `passkey.added`, `passkey.removed`, `agent.muted`, `agent.unmuted`.
 * A question to a person is a message too, and its events are that one's. Where `/v1/events` does not get through, the page reads
 * `GET /v1/audit?after=SEQ`, whose rows are the same.
 * @typedef {{seq: number, at: Time, id: string | null}} Happening
 */

// ---- the person's own calls: logins, passkeys ------------------------------------------------------------------------

/**
 * `POST /v1/login` (no credential before it) with one of these begins a login: 201 with a `Login`, and the cookie.
 * Refused with 401 `unauthorized`, reason `code` (used, or older than two minutes), `token` or `passkey`; 429 after ten
 * failures within a minute. `DELETE /v1/login` ends it (`Done`) and takes the cookie back.
 * @typedef {{code: string} | {token: string} | {passkey: Assertion}} Credential
 */

/**
 * What `navigator.credentials.get` gives.
 * @typedef {object} Assertion
 * @property {Bytes} credential its id
 * @property {Bytes} client_data
 * @property {Bytes} authenticator_data
 * @property {Bytes} signature
 */

/**
 * `GET /v1/login`: who is here, and what the page has to know before anything else.
 * @typedef {object} Login
 * @property {true} ok
 * @property {string} login its id; never the cookie
 * @property {string} name whose: the operator's token by whose right it is
 * @property {"code" | "token" | "passkey"} way
 * @property {Time} now the hub's clock
 * @property {number} seq the newest event: a list that is read after this answer shows at least what happened up to it
 * @property {string} version
 * @property {string[]} approvers `[approval] approvers`
 * @property {PasskeysHere} passkeys
 */

/**
 * @typedef {object} PasskeysHere
 * @property {boolean} possible whether the address of the page is one that passkeys work at
 * @property {string | null} rp_id
 * @property {string | null} because why not, and what to do
 */

/**
 * `GET /v1/logins`: `{ok, logins: OpenLogin[]}`, the one seen last first. `DELETE /v1/logins/{login}` ends one; 404.
 * @typedef {object} OpenLogin
 * @property {string} login
 * @property {string} name
 * @property {"code" | "token" | "passkey"} way
 * @property {string} browser in words, such as `Firefox on Linux`; at most 60 characters
 * @property {string} from the address it came from last
 * @property {Time} began_at
 * @property {Time} seen_at
 * @property {Time} expires_at
 * @property {boolean} this_one
 */

/**
 * `GET /v1/passkeys`: `{ok, passkeys: Passkey[]}`. `DELETE /v1/passkeys/{passkey}`: `Done`; 404.
 * @typedef {object} Passkey
 * @property {Hex} passkey SHA-256 of the credential's id, its first 8 bytes
 * @property {string} name
 * @property {Time} added_at
 * @property {Time | null} used_at
 */

/**
 * `POST /v1/passkeys/challenge` with `{"for": "login" | "add"}`; `login` needs no credential before it. 409 with the reason
 * `passkeys` where the page's address has none. Good once, and for two minutes.
 * @typedef {object} Challenge
 * @property {true} ok
 * @property {Bytes} challenge
 * @property {string} rp_id
 * @property {Bytes | null} user for `add`: the user handle
 */

/**
 * `POST /v1/passkeys`: 201 `{ok, passkey: Passkey}`. 401 with the reason `token` if the token is not an operator's.
 * @typedef {object} NewPasskey
 * @property {string} token the operator's token, once more
 * @property {string} name at most 40 characters
 * @property {Bytes} credential
 * @property {Bytes} client_data
 * @property {Bytes} authenticator_data
 * @property {Bytes} public_key SPKI
 * @property {number} algorithm COSE: -7, -8 or -257
 */

// ---- what waits for a person -----------------------------------------------------------------------------------------

/**
 * `GET /v1/approvals`. All that waits, and what was decided within 24 hours, at most 50, the last first.
 * @typedef {object} Approvals
 * @property {true} ok
 * @property {ApprovalRow[]} waiting people are asked now; by deadline
 * @property {ApprovalRow[]} later over `cards_per_hour`; in their turn
 * @property {ApprovalRow[]} decided
 */

/**
 * @typedef {object} ApprovalRow
 * @property {Hex} request 16 bytes
 * @property {"message" | "question"} kind
 * @property {string | null} message the message's id; a question is one too
 * @property {string} agent
 * @property {string} to as `channel:address[#thread]`; of a question, empty
 * @property {string | null} known_as the address book's name of it
 * @property {number} targets 1, or how many the card is about
 * @property {string} line the first line that is not empty, at most 200 characters
 * @property {number} files
 * @property {Time} asked_at
 * @property {Time} deadline
 * @property {Time | null} asks_at of what waits for its turn: when that is expected
 * @property {State} state of the message; of a question `held`, `sent` for approved, `denied`, `expired` or `cancelled`
 * @property {Time | null} decided_at
 * @property {string[]} by who decided, or has approved so far: `companion:shelf`, `web:phone`
 */

/**
 * `GET /v1/approvals/{request}`; 404. The page shows the document that it decodes, and of this only what no signature covers.
 * @typedef {object} ApprovalView
 * @property {Bytes} document the bytes that are signed (`gatepost_link::document`)
 * @property {number | null} audit_row the row whose hash is the document's audit head; null of what an older hub held
 * @property {string} why the rule that held it, as a sentence
 * @property {string | null} origin_name the address book's name of where the turn came from
 * @property {string | null} toml what would change the rule
 * @property {PartView[]} parts
 * @property {boolean} files_kept whether `GET /v1/files/{sha256}` has them
 * @property {number} quorum how many must approve
 * @property {"any" | "companion" | "web" | "both"} [decided_by] who decides, by the rules
 * @property {AskedCompanion[]} companions
 * @property {DeviceScreen | null} screen what a companion shows of it, as the firmware pages it
 * @property {WebApprover} web whether a passkey may decide this one
 */
/** @typedef {ApprovalRow & ApprovalView} Approval */

/**
 * The statement names the passkey, so one is chosen before the browser is asked.
 * @typedef {object} WebApprover
 * @property {boolean} may
 * @property {string | null} because why not, and what to do
 * @property {{credential: Bytes, name: string}[]} passkeys that may; the one that this login used last first
 */

/**
 * @typedef {object} PartView
 * @property {number} units
 * @property {number} limit
 * @property {string} unit such as `characters` or `bytes`
 * @property {Run[]} looks as the platform shows it; together they are its text there
 */

/**
 * @typedef {object} Run
 * @property {string} text
 * @property {("bold" | "italic" | "underline" | "strike" | "code" | "block" | "quote" | "link")[]} style
 */

/**
 * @typedef {object} AskedCompanion
 * @property {string} name
 * @property {boolean} online
 * @property {boolean} has_text
 * @property {boolean} approved
 * @property {string | null} unable_because
 * @property {Time | null} seen_at
 */

/** @typedef {{lines: string[], pages: number}} DeviceScreen */

/**
 * `POST /v1/approvals/{request}/challenge`, only with "web" among the approvers: else 403 `forbidden`, reason `web`. 404; 409 with
 * the reason `decided`, `expired` or `withdrawn`. The statement that is signed, by its SHA-256 as the challenge:
 * `"gatepost/decision/web/1"` ‖ hub key (32) ‖ SHA-256(credential id) ‖ request (16) ‖ SHA-256(document) ‖ verdict (1: 1 approve,
 * 2 deny) ‖ nonce (16).
 * @typedef {object} DecisionChallenge
 * @property {true} ok
 * @property {Bytes} nonce good once, and for two minutes
 * @property {Hex} hub_key
 * @property {string} rp_id
 */

/**
 * `POST /v1/approvals/{request}/decision`: 200 `Decided`. Refused as the challenge is, and with 409 `nonce` (used or too old) and
 * 403 `passkey` (unknown, revoked, another origin, no user verification, another document).
 * @typedef {Assertion & {verdict: "approve" | "deny", nonce: Bytes, document: Hex}} Decision
 */

/**
 * @typedef {object} Decided
 * @property {true} ok
 * @property {"approve" | "deny"} verdict
 * @property {number} approvals how many there are now
 * @property {number} quorum
 * @property {State} state
 */

// ---- messages --------------------------------------------------------------------------------------------------------

/** @typedef {"accepted" | "held" | "ready" | "sending" | "sent" | "failed" | "denied" | "expired" | "cancelled" | "unknown"} State */
/** @typedef {"planned" | "in_flight" | "confirmed" | "failed" | "unknown"} PartState */

/**
 * `GET /v1/messages?state=S,S&agent=A&channel=C&q=TEXT&before=CURSOR&limit=N`: newest first. `q` is looked for in the text, the
 * address, its name and the id, whatever the case. `next` is the cursor of what may follow, or null: a search ends after a quarter of a
 * second, with what it has found.
 * @typedef {{ok: true, messages: Summary[], next: string | null}} Messages
 */

/**
 * @typedef {object} Summary
 * @property {string} id
 * @property {State} state
 * @property {string} agent
 * @property {string} to
 * @property {string | null} known_as
 * @property {string} account
 * @property {Time} accepted_at
 * @property {string} line
 * @property {number} files
 * @property {string | null} [reason]
 * @property {string | null} [error]
 */

/**
 * `GET /v1/messages/{id}`
 * @typedef {object} Whole
 * @property {string} id
 * @property {State} state
 * @property {string} agent
 * @property {string} action
 * @property {string} to
 * @property {string | null} known_as
 * @property {string} account
 * @property {string | null} origin
 * @property {string | null} reply_to
 * @property {boolean} silent
 * @property {string} message
 * @property {string | null} written
 * @property {Time} accepted_at
 * @property {Time | null} due_at
 * @property {Time | null} ended_at
 * @property {Time} [deadline]
 * @property {Time} [paused_until]
 * @property {number} attempts
 * @property {string} [sent]
 * @property {string} [reason]
 * @property {string} [error]
 * @property {string} [detail]
 * @property {string} [hint]
 * @property {string[]} [history]
 * @property {string} [approvals]
 * @property {string[]} [approved_by]
 * @property {Hex | null} request of the approval that it waits for, or waited for
 * @property {PartReceipt[]} parts
 * @property {{name: string, kind: string, size: number, sha256: Hex}[]} [attachments]
 */

/**
 * @typedef {object} PartReceipt
 * @property {PartState} state
 * @property {string} [platform_id]
 * @property {string} [reason]
 * @property {string} [error]
 * @property {Time} [delivered_at] where the platform tells
 * @property {Time} [read_at]
 * @property {string} [text]
 */

// ---- conversations, turns, people ------------------------------------------------------------------------------------

/**
 * `GET /v1/sessions`
 * @typedef {object} Session
 * @property {string} agent
 * @property {string} session
 * @property {string[]} places
 * @property {string} opened_by
 * @property {Time} at
 * @property {Time} last_at
 */

/**
 * `GET /v1/sessions/transcript?agent=A&session=S&limit=N`
 * @typedef {object} SessionLine
 * @property {Time} at
 * @property {string} kind
 * @property {boolean} mine
 * @property {string} place
 * @property {string} text
 * @property {string} who
 */

/**
 * `GET /v1/local?last=N`: the newest N, oldest first.
 * @typedef {object} Arrived
 * @property {number} seq
 * @property {string} address
 * @property {Time} at
 * @property {string} text
 * @property {{name: string} | null} [attachment]
 */

/**
 * `GET /v1/people`: `{ok, people, requests}`
 * @typedef {object} AccessRequest
 * @property {string} code
 * @property {"person" | "conversation"} what
 * @property {string} subject
 * @property {string} channel
 * @property {string} address
 * @property {string} agent
 * @property {string | null} name
 * @property {Time} at
 * @property {Time} expires_at
 */

/**
 * `GET /v1/turns?agent=A&state=S&limit=N`
 * @typedef {object} TurnRow
 * @property {string} turn
 * @property {string} agent
 * @property {string} session
 * @property {"message" | "task" | "heartbeat" | "agent" | "system"} cause
 * @property {"blocked" | "unknown" | "known" | "owner"} scope
 * @property {"waiting" | "leased" | "done" | "failed"} state
 * @property {string | null} target
 * @property {number} attempts
 * @property {string | null} outcome
 * @property {Time} at
 * @property {Time} due_at
 * @property {Time | null} ended_at
 */

/** @typedef {{id: string, at: Time, kind: string, text: string, sender: {id: string, name?: string | null, scope: string}, files: {name: string, size: number}[]}} TurnItem */
/** `GET /v1/turns/{id}` @typedef {TurnRow & {items: TurnItem[]}} ShownTurn */

// ---- agents, channels, companions ------------------------------------------------------------------------------------

/**
 * `GET /v1/agents`: `{ok, agents: AgentView[]}`: every token, and every agent of the configuration, with or without one.
 * @typedef {object} AgentView
 * @property {string} name
 * @property {"agent" | "bridge" | "monitor" | "operator"} role
 * @property {Time | null} created_at of its token; null without one
 * @property {boolean} configured
 * @property {string[]} allow
 * @property {string[]} hold
 * @property {"hold" | "allow" | "deny" | null} cross_context
 * @property {number} cards that people were asked about in the last hour
 * @property {number} cards_per_hour 0 for no limit
 * @property {Time | null} muted_until
 */

/** `POST /v1/agents`: the one time that the token is seen. @typedef {{ok: true, name: string, role: string, token: string, configured: boolean}} Added */

/**
 * `POST /v1/agents/{name}/try` with `{"to": TARGET, "message"?: TEXT, "origin"?: TARGET}`: what the rules say of such a message of
 * this agent's. Does nothing. `origin` is the conversation of its turn; without it, the turn is in none. 404. And `POST
 * /v1/agents/{name}/mute` with `{"seconds": N}`, 86,400 at most, 0 to end it: `{ok, muted_until: Time | null}`.
 * @typedef {object} DryRun
 * @property {boolean} ok
 * @property {"allow" | "hold" | "deny"} verdict
 * @property {string} reason
 * @property {string} [hint]
 * @property {string} to
 * @property {string} account
 */

/**
 * `GET /v1/channels`; with `fresh=true` platforms are asked that were not within the last 10 seconds.
 * @typedef {object} Ready
 * @property {string} channel
 * @property {string} account
 * @property {"direct" | "gateway" | "hybrid"} mode
 * @property {boolean} ready
 * @property {string} said
 * @property {Time} [paused_until]
 * @property {string} limits in words: `4,096 characters, files of 50 MB`
 * @property {Time | null} [last_sent_at] as far as a short look tells
 * @property {boolean} receives
 * @property {{ready: boolean, standing: string}} [hearing] where it receives
 */

/**
 * `GET /v1/channels/guides`: `{ok, guides: {channel, account}[]}`, all that there are; `account` says what an account there is.
 * `GET /v1/channels/guides/{channel}`: one, with its steps as Markdown.
 * @typedef {{ok: true, channel: string, account: string, guide: string}} ChannelGuide
 */

/**
 * `GET /v1/companions`: `{ok, companions, broker: {connected, reason}}`
 * @typedef {object} Companion
 * @property {string} name
 * @property {string} key
 * @property {"device" | "software"} kind
 * @property {Time} added_at
 * @property {Time | null} seen_at
 * @property {Time | null} decided_at
 * @property {"approve" | "deny" | null} [decided] what it decided last
 * @property {{approved: number, denied: number}} today within 24 hours
 * @property {string | null} [shows] the request whose card it shows
 * @property {Time | null} revoked_at
 * @property {boolean} [online]
 * @property {boolean} [able]
 * @property {string | null} [unable_because]
 * @property {{board: string, version: string, state: string} | null} [firmware]
 * @property {{state: string, text: string, version: string, done?: number | null, of?: number | null} | null} [update]
 */

/** `GET /v1/boards` @typedef {{ports: string[], broker?: string, broker_unknown_because?: string}} Boards */
/** An event of `POST /v1/boards` @typedef {{step: string, board?: string, version?: string, percent?: number}} InstallStep */

/** `POST /v1/pairing` @typedef {{ok: true, code: string, key: string, kind: string, expires_in_s: number}} Offered */

/**
 * `GET /v1/updates`
 * @typedef {object} Updates
 * @property {number | null} root
 * @property {ReleaseView[]} releases
 * @property {RollOutView[]} roll_outs
 * @property {{name: string, firmware?: Companion["firmware"], update?: Companion["update"]}[]} companions
 * @property {string[]} warnings
 * @property {HubView} hub
 */

/**
 * The hub's own program, and its update that was asked for last. `POST /v1/updates/hub` with `{"version"?: V}` asks for one, the newest
 * without a version: 202 `{ok, hub: HubView}`; 409 if nothing replaces it, or while one is under way.
 * @typedef {object} HubView
 * @property {string} version
 * @property {"package" | "image" | null} installed_as
 * @property {HubUpdateView | null} update
 */

/**
 * @typedef {object} HubUpdateView
 * @property {string} state `asked`, `checking`, `fetching`, `installing`, `restarting`, `proving`, `going_back`; at the end `installed`, `went_back`, `refused` or `failed`
 * @property {string} text
 * @property {string} [from]
 * @property {string} [to]
 * @property {number} [percent]
 * @property {Time} since
 */

/**
 * @typedef {object} ReleaseView
 * @property {string} board
 * @property {string} version
 * @property {number} size
 * @property {Time} added_at
 * @property {Time} expires_at
 * @property {boolean} rolled_out
 * @property {boolean} newest
 * @property {string} [problem]
 */

/**
 * @typedef {object} RollOutView
 * @property {string} board
 * @property {string} version
 * @property {Time} at
 * @property {string} by
 * @property {number} companions
 * @property {number} confirmed
 * @property {boolean} paused
 */

// ---- audit, figures, settings ----------------------------------------------------------------------------------------

/**
 * `GET /v1/audit?after=SEQ` (oldest first) or `?before=SEQ` (newest first; without either, the newest), with `event=NOUN` or
 * `event=NOUN.VERB`, `actor=A`, `message=ID`, `limit=N` (50; 1,000 at most). `next` is before or after which row to look on, or null: a
 * look ends after a quarter of a second, with what it has found. `GET /v1/audit?format=jsonl` gives all of it, a row a
 * line, as an attachment.
 * @typedef {{ok: true, rows: AuditRow[], newest: number, oldest: number, next: number | null}} Audit
 */

/**
 * @typedef {object} AuditRow
 * @property {number} seq
 * @property {Time} at
 * @property {string} actor
 * @property {string} event
 * @property {string | null} message
 * @property {Record<string, unknown>} detail
 * @property {Hex} hash
 */

/**
 * `POST /v1/audit/verify`: server-sent events. `progress` with `{done, of}` rows, twice a second at most; then `report` with this, and
 * the stream ends. One at a time: 429.
 * @typedef {object} AuditReport
 * @property {number} rows
 * @property {number} purged_to
 * @property {number} last
 * @property {number} signed_to
 * @property {number} checkpoints
 * @property {number} decisions signatures of companions and passkeys that were checked
 * @property {string[]} faults as sentences; none if all fits
 */

/**
 * `GET /v1/figures`: the last 24 hours in steps of five minutes, oldest first; at most 10 seconds old.
 * @typedef {object} Figures
 * @property {true} ok
 * @property {Time} from
 * @property {number} step_s
 * @property {Bucket[]} buckets
 * @property {{sent: number, denied: number, expired: number, failed: number, unknown: number, cancelled: number}} totals
 * @property {{times: number, expired: number, median_s: number | null}} asked
 * @property {{held: number, queued: number, oldest_s: number | null}} now
 * @property {{p50_ms: number | null, p95_ms: number | null}} delivery from accepted to sent, without what was held
 */

/** @typedef {{sent: number, denied: number, failed: number, p50_ms: number | null, p95_ms: number | null}} Bucket */

/**
 * `GET /v1/settings`: the configuration that holds. Secrets are `***`.
 * @typedef {object} Settings
 * @property {true} ok
 * @property {string | null} file
 * @property {SettingsSection[]} sections
 */

/** @typedef {{section: string, doc: string, keys: SettingsKey[]}} SettingsSection */
/** @typedef {{key: string, value: string, origin: "file" | "default" | "environment", line: number | null, doc: string}} SettingsKey */

// ---- the calls -------------------------------------------------------------------------------------------------------

/**
 * What api.js makes of its table. Every answer has `ok` beside what stands here.
 * @typedef {object} Calls
 * @property {() => Promise<Login>} login
 * @property {(credential: Credential) => Promise<Login>} signIn
 * @property {() => Promise<unknown>} signOut
 * @property {() => Promise<{logins: OpenLogin[]}>} logins
 * @property {(login: string) => Promise<unknown>} endLogin
 * @property {() => Promise<{passkeys: Passkey[]}>} passkeys
 * @property {(purpose: {for: "login" | "add"}) => Promise<Challenge>} challenge
 * @property {(passkey: NewPasskey) => Promise<{passkey: Passkey}>} addPasskey
 * @property {(passkey: string) => Promise<unknown>} removePasskey
 * @property {() => Promise<Approvals>} approvals
 * @property {(request: string) => Promise<Approval>} approval
 * @property {(request: string) => Promise<DecisionChallenge>} decisionChallenge
 * @property {(request: string, decision: Decision) => Promise<Decided>} decide
 * @property {(filter: {state?: string, agent?: string, channel?: string, q?: string, before?: string | undefined, limit?: number}, signal?: AbortSignal) => Promise<Messages>} messages
 * @property {(id: string) => Promise<Whole>} message
 * @property {(call: {channel: string, accountId: string, to: string, message: string}) => Promise<{id: string, state: State}>} send
 * @property {(id: string) => Promise<unknown>} cancelMessage
 * @property {(id: string, how?: {mayDuplicate: boolean}) => Promise<unknown>} retryMessage
 * @property {(id: string, settlement: {arrived: boolean, part?: number, reason: string}) => Promise<unknown>} settleMessage
 * @property {(which: {id: string}) => Promise<unknown>} purgeMessage
 * @property {(filter: {agent?: string, limit?: number}) => Promise<{sessions: Session[]}>} sessions
 * @property {(of: {agent: string, session: string, limit?: number}) => Promise<{lines: SessionLine[]}>} transcript
 * @property {(report: {agent: string, session: string, channel: "local", peer: string, sender: string, text: string}) => Promise<unknown>} sayToAgent
 * @property {(which: {last: number}) => Promise<{arrived: Arrived[]}>} localInbox
 * @property {() => Promise<{requests: AccessRequest[]}>} people
 * @property {(code: string, answer: {allow: boolean}) => Promise<unknown>} answerAccess
 * @property {(filter: {agent?: string, state?: string, limit?: number}) => Promise<{turns: TurnRow[]}>} turns
 * @property {(turn: string) => Promise<ShownTurn>} turn
 * @property {(turn: string, what: "retry" | "drop") => Promise<unknown>} operateTurn
 * @property {() => Promise<{agents: AgentView[]}>} agents
 * @property {(token: {name: string, role: string}) => Promise<Added>} addToken
 * @property {(name: string) => Promise<unknown>} revokeToken
 * @property {(agent: string, target: {to: string, message?: string, origin?: string}) => Promise<DryRun>} tryTarget
 * @property {(agent: string, time: {seconds: number}) => Promise<{muted_until: Time | null}>} mute
 * @property {(how?: {fresh: boolean | undefined}) => Promise<{channels: Ready[]}>} channels
 * @property {() => Promise<{guides: {channel: string, account: string}[]}>} guides
 * @property {(channel: string) => Promise<ChannelGuide>} guide
 * @property {() => Promise<{companions: Companion[], broker: {connected: boolean, reason: string | null}}>} companions
 * @property {(which: string, name: {name: string}) => Promise<unknown>} renameCompanion
 * @property {(which: string) => Promise<{withdrawn: number, left: number, quorum: number}>} revokeCompanion
 * @property {() => Promise<Boards>} boards
 * @property {(signal: AbortSignal) => Promise<Offered>} pair waits up to a minute for a device
 * @property {(code: string, compared: {same: boolean, name?: string}) => Promise<{companion: {name: string}}>} answerPairing
 * @property {() => Promise<Updates>} updates
 * @property {(order: {version: string, board?: string, to?: string[]}) => Promise<{boards: string[]}>} rollOut
 * @property {(order: {version?: string}) => Promise<{hub: HubView}>} rollOutHub
 * @property {(what: "pause" | "resume") => Promise<unknown>} restRollOuts
 * @property {(filter: {after?: number, before?: number, event?: string, actor?: string, message?: string, limit?: number}) => Promise<Audit>} audit
 * @property {() => Promise<Figures>} figures
 * @property {() => Promise<Settings>} settings
 */

export {};
