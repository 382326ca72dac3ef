//! The tables, and how an older database becomes a current one.
//!
//! `user_version` counts the migrations that a file has seen. A newer program runs those that are missing, in one
//! transaction. An older one that is put back after an update uses the file as it is ([`compatibility`]). For that, every
//! migration after the line (`LINE`) keeps these rules, and the tests hold it to the first:
//!
//! - It only adds: tables, columns that may be null or have a default, indexes that are not unique. Nothing is dropped, renamed
//!   or rewritten. No new table or column keeps an old row from being deleted, and nothing new fires when one is written.
//! - No stored word changes its meaning, and none is new where the program before must know all of them, as in `messages.state`.
//!   Events of the audit may be new: they are read past.
//! - Nothing new restricts what the program before lets through, for that one does not look at it.
//! - The default of a new column is true of every row that the program before writes.
//! - A new column of `messages` or `parts` is not in the hashes that the program before compares ([`crate::outbox::digest`]),
//!   but in one of a name of its own: else `gatepost audit verify` of that program names rows that nobody has altered.
//!
//! A migration that cannot keep them stands in [`BREAKING`]. Then programs from before it refuse the database.
//!
//! Times are milliseconds since 1970. Ids that people or programs see are text; hashes and keys are blobs.

mod compatibility;

use rusqlite::Connection;

pub use compatibility::{Newer, newer};
pub(crate) use compatibility::{Schema, Standing};

const MIGRATIONS: &[&str] = &["
-- Who may speak to the hub. Only the hash of a token is kept.
CREATE TABLE tokens (
    hash BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- What people wrote to agents, and the tokens with which agents answer there.
CREATE TABLE inbound (
    seq INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    peer TEXT NOT NULL,
    thread TEXT,
    sender TEXT,
    platform_id TEXT,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE contexts (
    hash BLOB PRIMARY KEY,
    inbound INTEGER NOT NULL REFERENCES inbound (seq),
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX contexts_expiry ON contexts (expires_at);

-- The outbox. A row is written before anything is done with it, and outlives its end.
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    state TEXT NOT NULL,
    action TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    silent INTEGER NOT NULL,
    origin TEXT,
    text TEXT NOT NULL,
    idempotency_key TEXT,
    fingerprint BLOB NOT NULL,
    accepted_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    -- Its place in its lane: given when it is released, so that who was held joins at the end.
    released INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    code TEXT,
    reason TEXT,
    ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX messages_idempotency ON messages (agent, idempotency_key) WHERE idempotency_key IS NOT NULL;
-- Small however long the history: whoever asks for what is under way repeats this condition, word for word.
CREATE INDEX messages_live ON messages (state, channel, account, address, released)
    WHERE state IN ('accepted', 'held', 'ready', 'sending');
CREATE INDEX messages_agent ON messages (agent, seq);
CREATE TABLE parts (
    message INTEGER NOT NULL REFERENCES messages (seq),
    idx INTEGER NOT NULL,
    key TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    shown TEXT NOT NULL,
    wire TEXT NOT NULL,
    first_sent_at INTEGER,
    platform_id TEXT,
    error TEXT,
    PRIMARY KEY (message, idx)
) STRICT;

-- What waits, or waited, for a person.
CREATE TABLE approvals (
    request BLOB PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES messages (seq),
    document BLOB NOT NULL,
    deadline INTEGER NOT NULL,
    decided_at INTEGER,
    verdict TEXT,
    device BLOB,
    counter INTEGER,
    session BLOB,
    signature BLOB
) STRICT;
CREATE UNIQUE INDEX approvals_message ON approvals (message);
CREATE INDEX approvals_open ON approvals (message) WHERE decided_at IS NULL;
CREATE TABLE devices (
    key BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    software INTEGER NOT NULL,
    counter INTEGER NOT NULL DEFAULT 0,
    added_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- What the hub has to tell agents.
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL,
    message TEXT NOT NULL,
    notice TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_agent ON inbox (agent, seq);

-- The `local` channel: what arrived in the house itself.
CREATE TABLE local (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    part_key TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

-- Everything that happened. Each row's hash covers the one before it.
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    event TEXT NOT NULL,
    message TEXT,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
","
-- How much is under way, counted by the rows themselves, so that the bound on it costs no look at all of them.
CREATE TABLE depth (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
INSERT INTO depth SELECT 1, count(*), coalesce(sum(octet_length(text)), 0) FROM messages
    WHERE state IN ('accepted', 'held', 'ready', 'sending');
CREATE TRIGGER messages_enter AFTER INSERT ON messages
    WHEN new.state IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE depth SET messages = messages + 1, bytes = bytes + octet_length(new.text); END;
CREATE TRIGGER messages_end AFTER UPDATE OF state ON messages
    WHEN old.state IN ('accepted', 'held', 'ready', 'sending')
        AND new.state NOT IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE depth SET messages = messages - 1, bytes = bytes - octet_length(old.text); END;
CREATE TRIGGER messages_again AFTER UPDATE OF state ON messages
    WHEN old.state NOT IN ('accepted', 'held', 'ready', 'sending')
        AND new.state IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE depth SET messages = messages + 1, bytes = bytes + octet_length(new.text); END;
","
-- What the database knows of the hub that it belongs to.
CREATE TABLE hub (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch INTEGER NOT NULL,
    -- It is an old copy, and what was under way in it has not been settled yet.
    restored INTEGER NOT NULL DEFAULT 0,
    -- The boot whose clock `clock_offset` belongs to, and the last time, in milliseconds since 1970.
    boot TEXT,
    clock_offset INTEGER,
    clock_last INTEGER
) STRICT;
INSERT INTO hub (id, epoch) VALUES (1, 0);
","
-- The audit's hash at one row, signed by the hub's key; a purged one stands for all rows up to its own.
CREATE TABLE checkpoints (
    seq INTEGER NOT NULL,
    purged INTEGER NOT NULL,
    at INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    hash BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (seq, purged)
) STRICT;
","
-- What goes when its retention is over is found without a look at what stays.
CREATE INDEX messages_ended ON messages (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX inbox_message ON inbox (message);
CREATE INDEX contexts_inbound ON contexts (inbound);
","
-- How many messages came to what, counted by the rows themselves; it outlives them.
CREATE TABLE totals (
    channel TEXT NOT NULL,
    state TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (channel, state)
) STRICT, WITHOUT ROWID;
INSERT INTO totals SELECT channel, 'accepted', count(*) FROM messages GROUP BY channel;
INSERT INTO totals SELECT channel, state, count(*) FROM messages
    WHERE state NOT IN ('accepted', 'ready', 'sending') GROUP BY channel, state;
CREATE TRIGGER totals_accepted AFTER INSERT ON messages
    BEGIN INSERT INTO totals VALUES (new.channel, 'accepted', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
CREATE TRIGGER totals_state AFTER UPDATE OF state ON messages
    WHEN new.state NOT IN ('accepted', 'ready', 'sending')
    BEGIN INSERT INTO totals VALUES (new.channel, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
","
-- What hooks made of a message, once: from then on its text is theirs, and what its agent wrote is kept beside it.
ALTER TABLE messages ADD COLUMN hooked_at INTEGER;
ALTER TABLE messages ADD COLUMN written TEXT;
CREATE TRIGGER messages_text AFTER UPDATE OF text ON messages
    WHEN new.state IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE depth SET bytes = bytes + octet_length(new.text) - octet_length(old.text); END;
-- The row of the audit up to which hooks were told what ended.
ALTER TABLE hub ADD COLUMN hooks_told INTEGER;
","
-- The row of the audit in which a message came to its end: the order in which an agent has said things.
ALTER TABLE messages ADD COLUMN ended_seq INTEGER;
CREATE INDEX messages_said ON messages (agent, ended_seq) WHERE ended_seq IS NOT NULL;
","
ALTER TABLE messages ADD COLUMN best_effort INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN resend INTEGER NOT NULL DEFAULT 0;
-- Every lane in its order, with all that decides when its head goes: whoever looks at it reads nothing else.
CREATE INDEX messages_lanes ON messages
    (channel, account, address, released, state, accepted_at, due_at, deadline)
    WHERE state IN ('ready', 'sending');
-- Until when platforms take nothing. Without an address it is all of an account, without an account all of a channel.
CREATE TABLE pauses (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (channel, account, address)
) STRICT;
","
-- Files that go along: what they are stands in their message; which message needs which file is looked up by the hash.
ALTER TABLE messages ADD COLUMN attachments TEXT;
CREATE TABLE file_uses (
    digest BLOB NOT NULL,
    message INTEGER NOT NULL REFERENCES messages (seq),
    PRIMARY KEY (digest, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_uses_message ON file_uses (message);
-- Files that a caller handed in, and may name for a while.
CREATE TABLE uploads (
    agent TEXT NOT NULL,
    digest BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_digest ON uploads (digest);
CREATE INDEX uploads_at ON uploads (at);
ALTER TABLE local ADD COLUMN attachment TEXT;
ALTER TABLE local ADD COLUMN digest BLOB;
CREATE INDEX local_digest ON local (digest) WHERE digest IS NOT NULL;
","
-- Lanes have an index of their own: here, what comes together lies together.
DROP INDEX messages_live;
CREATE INDEX messages_live ON messages (state, channel)
    WHERE state IN ('accepted', 'held', 'ready', 'sending');
","
-- When a companion last came, went or decided, and when it last decided.
ALTER TABLE devices ADD COLUMN seen_at INTEGER;
ALTER TABLE devices ADD COLUMN decided_at INTEGER;
","
-- How many devices must approve a message, and the approvals that came before there were enough.
ALTER TABLE approvals ADD COLUMN quorum INTEGER NOT NULL DEFAULT 1;
CREATE TABLE votes (
    request BLOB NOT NULL REFERENCES approvals (request) ON DELETE CASCADE,
    device BLOB NOT NULL,
    at INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    session BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (request, device)
) STRICT, WITHOUT ROWID;
","
-- Since when people are asked; nothing while an agent has had its share of an hour, and why it is held then.
ALTER TABLE approvals ADD COLUMN card_at INTEGER;
ALTER TABLE approvals ADD COLUMN why TEXT;
UPDATE approvals SET card_at = (SELECT accepted_at FROM messages WHERE seq = message);
CREATE INDEX approvals_cards ON approvals (card_at) WHERE card_at IS NOT NULL;
CREATE INDEX approvals_later ON approvals (message) WHERE decided_at IS NULL AND card_at IS NULL;
-- How many cards each agent has put, and how many had to wait, counted by the rows themselves; it outlives them.
CREATE TABLE cards (
    agent TEXT PRIMARY KEY,
    put INTEGER NOT NULL,
    deferred INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER cards_put AFTER INSERT ON approvals WHEN new.card_at IS NOT NULL
    BEGIN INSERT INTO cards SELECT agent, 1, 0 FROM messages WHERE seq = new.message
        ON CONFLICT DO UPDATE SET put = put + 1; END;
CREATE TRIGGER cards_deferred AFTER INSERT ON approvals WHEN new.card_at IS NULL
    BEGIN INSERT INTO cards SELECT agent, 0, 1 FROM messages WHERE seq = new.message
        ON CONFLICT DO UPDATE SET deferred = deferred + 1; END;
CREATE TRIGGER cards_later AFTER UPDATE OF card_at ON approvals WHEN old.card_at IS NULL AND new.card_at IS NOT NULL
    BEGIN UPDATE cards SET put = put + 1 WHERE agent = (SELECT agent FROM messages WHERE seq = new.message); END;
","
-- How a companion is spoken to: its key for sealed sessions, the hash of its password at the embedded broker, and the highest
-- version of the link that it has spoken. One without the first was never paired.
ALTER TABLE devices ADD COLUMN seal BLOB;
ALTER TABLE devices ADD COLUMN login BLOB;
ALTER TABLE devices ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
","
-- What a message does where that is more than to bring a text and files.
ALTER TABLE messages ADD COLUMN deed TEXT;
","
-- The name in the house's address book under which a target was meant, for whoever approves.
ALTER TABLE messages ADD COLUMN known_as TEXT;
-- The latest message of a conversation.
CREATE INDEX inbound_of ON inbound (channel, account, peer, seq);
","
-- What somebody entered into a form of a message, and the platform's own id of that, by which it is taken once.
ALTER TABLE inbox ADD COLUMN entry TEXT;
ALTER TABLE inbox ADD COLUMN entry_id TEXT;
CREATE UNIQUE INDEX inbox_entries ON inbox (entry_id) WHERE entry_id IS NOT NULL;
","
-- The messages that an operation names, and where they are: by what was sent, by what was heard, or as the platform says.
ALTER TABLE messages ADD COLUMN touched TEXT;
CREATE INDEX parts_platform_id ON parts (platform_id) WHERE platform_id IS NOT NULL;
CREATE INDEX inbound_platform_id ON inbound (platform_id) WHERE platform_id IS NOT NULL;
","
-- The last row of the audit without hashes of its message, for those of older programs have none, and the row that says so.
ALTER TABLE hub ADD COLUMN hashed_after INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hub ADD COLUMN audit_began INTEGER;
UPDATE hub SET hashed_after = (SELECT coalesce(max(seq), 0) FROM audit);
","
-- Whose address it is, as its platform said, for those whose spelling does not tell.
CREATE TABLE identities (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    identity TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, address)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_asked ON identities (asked_at);
-- A message's address is an identity: what was written, where that is another spelling, and why nobody knew whose it is.
ALTER TABLE messages ADD COLUMN written_as TEXT;
ALTER TABLE messages ADD COLUMN unidentified TEXT;
","
-- What an operator has said or done about parts of which nobody knew whether they arrived; it stays with the message.
ALTER TABLE messages ADD COLUMN history TEXT;
-- The edits of a message, for the newest.
CREATE INDEX messages_edits ON messages (deed ->> '$.message') WHERE deed ->> '$.do' = 'edit';
","
-- Where a conversation stood before a part's request left, how often its platform was asked in vain whether the part arrived,
-- and whom it reached, where that was said of several people.
ALTER TABLE parts ADD COLUMN position TEXT;
ALTER TABLE parts ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE parts ADD COLUMN recipients TEXT;
","
-- One request may be about several messages: a row for each of them, all with its document and, once it is decided, its decision.
-- The votes go first, for they would go with the table that they refer to.
CREATE TABLE votes_kept AS SELECT * FROM votes;
DROP TABLE votes;
CREATE TABLE approvals_kept AS SELECT * FROM approvals;
DROP TABLE approvals;
CREATE TABLE approvals (
    request BLOB NOT NULL,
    message INTEGER NOT NULL UNIQUE REFERENCES messages (seq),
    document BLOB NOT NULL,
    deadline INTEGER NOT NULL,
    decided_at INTEGER,
    verdict TEXT,
    device BLOB,
    counter INTEGER,
    session BLOB,
    signature BLOB,
    quorum INTEGER NOT NULL DEFAULT 1,
    card_at INTEGER,
    why TEXT
) STRICT;
INSERT INTO approvals SELECT request, message, document, deadline, decided_at, verdict, device, counter, session, signature,
    quorum, card_at, why FROM approvals_kept ORDER BY message;
DROP TABLE approvals_kept;
CREATE INDEX approvals_request ON approvals (request, message);
CREATE INDEX approvals_open ON approvals (message) WHERE decided_at IS NULL;
CREATE INDEX approvals_cards ON approvals (card_at) WHERE card_at IS NOT NULL;
CREATE INDEX approvals_later ON approvals (message) WHERE decided_at IS NULL AND card_at IS NULL;
CREATE TABLE votes (
    request BLOB NOT NULL,
    device BLOB NOT NULL,
    at INTEGER NOT NULL,
    counter INTEGER NOT NULL,
    session BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (request, device)
) STRICT, WITHOUT ROWID;
INSERT INTO votes SELECT request, device, at, counter, session, signature FROM votes_kept;
DROP TABLE votes_kept;
CREATE TRIGGER votes_gone AFTER DELETE ON approvals
    WHEN NOT EXISTS (SELECT 1 FROM approvals WHERE request = old.request)
    BEGIN DELETE FROM votes WHERE request = old.request; END;
-- A card counts once, at its first message.
CREATE TRIGGER cards_put AFTER INSERT ON approvals
    WHEN new.card_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM approvals WHERE request = new.request AND message < new.message)
    BEGIN INSERT INTO cards SELECT agent, 1, 0 FROM messages WHERE seq = new.message
        ON CONFLICT DO UPDATE SET put = put + 1; END;
CREATE TRIGGER cards_deferred AFTER INSERT ON approvals
    WHEN new.card_at IS NULL AND NOT EXISTS (SELECT 1 FROM approvals WHERE request = new.request AND message < new.message)
    BEGIN INSERT INTO cards SELECT agent, 0, 1 FROM messages WHERE seq = new.message
        ON CONFLICT DO UPDATE SET deferred = deferred + 1; END;
CREATE TRIGGER cards_later AFTER UPDATE OF card_at ON approvals
    WHEN old.card_at IS NULL AND new.card_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE request = new.request AND message < new.message)
    BEGIN UPDATE cards SET put = put + 1 WHERE agent = (SELECT agent FROM messages WHERE seq = new.message); END;
", "
-- Who the account of a message is, as a hash of its settings. Nothing for what was accepted before there was one.
ALTER TABLE messages ADD COLUMN account_is BLOB;
","
-- To whom a platform said that it takes nothing, and in which words. What stands there already holds whoever the account is.
CREATE TABLE pauses_kept AS SELECT * FROM pauses;
DROP TABLE pauses;
CREATE TABLE pauses (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    account_is BLOB NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    why TEXT,
    PRIMARY KEY (channel, account, address, account_is)
) STRICT;
INSERT INTO pauses SELECT channel, account, address, x'', at, until, NULL FROM pauses_kept;
DROP TABLE pauses_kept;
","
-- What people do beside writing, and all else that a platform told of it, as JSON. What a bridge reported before has no scope: it
-- counts as it did. `request` is the
-- one for access that it waits for.
ALTER TABLE inbound ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
ALTER TABLE inbound ADD COLUMN facts TEXT;
ALTER TABLE inbound ADD COLUMN scope TEXT;
ALTER TABLE inbound ADD COLUMN said_at INTEGER;
ALTER TABLE inbound ADD COLUMN request TEXT;
CREATE INDEX inbound_sender ON inbound (channel, account, sender, at) WHERE sender IS NOT NULL;
CREATE INDEX inbound_request ON inbound (request) WHERE request IS NOT NULL;
CREATE INDEX inbound_at ON inbound (at);
CREATE TABLE inbound_files (
    inbound INTEGER NOT NULL REFERENCES inbound (seq) ON DELETE CASCADE,
    digest BLOB NOT NULL,
    PRIMARY KEY (inbound, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_files_digest ON inbound_files (digest);
-- What was received, by a hash of what its platform names it: longer than any platform repeats.
CREATE TABLE inbound_keys (
    key BLOB PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_keys_at ON inbound_keys (at);
-- How far each account has read its platform.
CREATE TABLE positions (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    stream TEXT NOT NULL,
    value TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, stream)
) STRICT, WITHOUT ROWID;
-- What went no further, counted by why.
CREATE TABLE drops (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    reason TEXT NOT NULL,
    what TEXT NOT NULL,
    count INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, reason, what)
) STRICT, WITHOUT ROWID;
-- Who writes, by channel and id; and whom a person let in or shut out.
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;
CREATE TABLE grants (
    user TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    by TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE conversations (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    direct INTEGER NOT NULL,
    title TEXT,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    -- The agent that a person gave it to; nothing while only the configuration does.
    agent TEXT,
    PRIMARY KEY (channel, account, address)
) STRICT;
CREATE TABLE access_requests (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    code TEXT NOT NULL UNIQUE,
    what TEXT NOT NULL,
    subject TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    name TEXT,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided TEXT,
    decided_at INTEGER,
    by TEXT,
    -- The message on whose card a person is asked.
    message TEXT
) STRICT;
CREATE UNIQUE INDEX access_requests_open ON access_requests (what, subject) WHERE decided IS NULL;
CREATE INDEX access_requests_at ON access_requests (at);
-- What an agent is woken for. One of a session at a time; what is gathered joins the one that waits.
CREATE TABLE turns (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    gather TEXT,
    cause TEXT NOT NULL,
    scope TEXT NOT NULL,
    -- The conversation; nothing of a turn that is in none.
    channel TEXT,
    account TEXT,
    address TEXT,
    thread TEXT,
    state TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    lease TEXT,
    lease_until INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- What was kept to be read along, and was too much.
    omitted INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX turns_leased ON turns (agent, session) WHERE state = 'leased';
CREATE UNIQUE INDEX turns_gathering ON turns (agent, session, gather) WHERE state = 'waiting' AND gather IS NOT NULL;
CREATE INDEX turns_waiting ON turns (agent, due_at) WHERE state = 'waiting';
CREATE INDEX turns_until ON turns (lease_until) WHERE state = 'leased';
CREATE INDEX turns_ended ON turns (ended_at) WHERE ended_at IS NOT NULL;
-- What stands in a turn; without one, what waits to be read with the next.
CREATE TABLE turn_items (
    agent TEXT NOT NULL,
    inbound INTEGER NOT NULL REFERENCES inbound (seq),
    session TEXT NOT NULL,
    turn INTEGER REFERENCES turns (seq),
    engages INTEGER NOT NULL,
    PRIMARY KEY (agent, inbound)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_items_turn ON turn_items (turn) WHERE turn IS NOT NULL;
CREATE INDEX turn_items_loose ON turn_items (agent, session, inbound) WHERE turn IS NULL;
CREATE INDEX turn_items_inbound ON turn_items (inbound);
-- Where an agent speaks with whom, and in which session.
CREATE TABLE sessions (
    agent TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT NOT NULL DEFAULT '',
    session TEXT NOT NULL,
    opened_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (agent, channel, account, address, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_last ON sessions (last_at);
ALTER TABLE contexts ADD COLUMN turn INTEGER REFERENCES turns (seq);
CREATE INDEX contexts_turn ON contexts (turn) WHERE turn IS NOT NULL;
-- Whoever looks for the messages of a turn repeats this expression. A row that somebody tampered with is no JSON, and no error here.
CREATE INDEX messages_turn ON messages (iif(json_valid(origin), origin ->> '$.turn', NULL));
-- What agents want to be woken for later. A task with no end is due at `next_at`, and looked at when `try_at` has come.
CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    schedule TEXT NOT NULL,
    zone TEXT,
    recurs INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    session TEXT NOT NULL,
    scope TEXT NOT NULL,
    because TEXT,
    -- The conversation; nothing of a task that is in none.
    channel TEXT,
    account TEXT,
    address TEXT,
    thread TEXT,
    at INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    try_at INTEGER NOT NULL,
    -- Since 1970, and how often it was due on that day.
    day INTEGER NOT NULL DEFAULT 0,
    runs_of_day INTEGER NOT NULL DEFAULT 0,
    runs INTEGER NOT NULL DEFAULT 0,
    last_at INTEGER,
    outcome TEXT,
    ended_at INTEGER
) STRICT;
CREATE INDEX tasks_due ON tasks (try_at) WHERE ended_at IS NULL;
CREATE INDEX tasks_agent ON tasks (agent, at);
CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;
-- The session that a message is said in: that of its destination. What was accepted before has that of its turn, in `origin`.
ALTER TABLE messages ADD COLUMN session TEXT;
CREATE INDEX messages_session ON messages (agent, session, ended_at) WHERE ended_at IS NOT NULL AND session IS NOT NULL;
CREATE INDEX turn_items_session ON turn_items (agent, session, inbound);
CREATE INDEX contexts_session ON contexts (agent, session, inbound);
-- Each agent's heartbeat: when it is looked at next, the turn and the message whose ends are not settled, how many failed in a row, and
-- what it was told of last.
CREATE TABLE heartbeats (
    agent TEXT PRIMARY KEY,
    next_at INTEGER NOT NULL,
    last_at INTEGER,
    turn TEXT,
    message TEXT,
    day TEXT,
    today INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    stopped_at INTEGER,
    told TEXT,
    seen_notice INTEGER NOT NULL DEFAULT 0,
    seen_kept INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
-- What heartbeats said within a day, by a hash of the words.
CREATE TABLE heartbeat_texts (
    agent TEXT NOT NULL,
    target TEXT NOT NULL,
    hash BLOB NOT NULL,
    message TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent, target, hash)
) STRICT, WITHOUT ROWID;
-- What a delivery had the hub itself do, by the key of its part: it is done once.
CREATE TABLE performed (
    key TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
-- How often agents have handed on what began the turn: none, where no agent did.
ALTER TABLE turns ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
","
-- The oldest schema whose program can use this database as long as it has schema `of_schema`, and the program that changed its
-- tables last.
ALTER TABLE hub ADD COLUMN oldest_schema INTEGER;
ALTER TABLE hub ADD COLUMN of_schema INTEGER;
ALTER TABLE hub ADD COLUMN changed_by TEXT;
","
-- Releases of firmware for companions. Their files are in data_dir/updates, as long as they are kept; what a companion was offered
-- stays known. `expires` is in seconds since 1970.
CREATE TABLE releases (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    board TEXT NOT NULL,
    version TEXT NOT NULL,
    floor TEXT NOT NULL,
    size INTEGER NOT NULL,
    image BLOB NOT NULL,
    file BLOB NOT NULL,
    root INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    removed_at INTEGER,
    UNIQUE (board, version)
) STRICT;
-- What is rolled out to whom: to all companions of a board, or to those whose keys stand in `targets`, one after the other.
CREATE TABLE rollouts (
    board TEXT PRIMARY KEY,
    release INTEGER NOT NULL REFERENCES releases (seq),
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    targets BLOB NOT NULL,
    now INTEGER NOT NULL,
    again INTEGER NOT NULL,
    paused_at INTEGER
) STRICT, WITHOUT ROWID;
-- What each companion runs, as it said last, and since when without a restart.
CREATE TABLE firmware (
    device BLOB PRIMARY KEY REFERENCES devices (key) ON DELETE CASCADE,
    board TEXT NOT NULL,
    version TEXT NOT NULL,
    floor TEXT NOT NULL,
    root INTEGER NOT NULL,
    state TEXT NOT NULL,
    image BLOB,
    since INTEGER NOT NULL
) STRICT;
-- How far each companion is with a release that it was offered.
CREATE TABLE installs (
    device BLOB NOT NULL REFERENCES devices (key) ON DELETE CASCADE,
    release INTEGER NOT NULL REFERENCES releases (seq),
    stage TEXT NOT NULL,
    why TEXT,
    since INTEGER NOT NULL,
    PRIMARY KEY (device, release)
) STRICT;
","
-- The roots that came with releases of firmware and were verified: what only an older one vouches for is not taken any more.
CREATE TABLE update_roots (
    version INTEGER PRIMARY KEY,
    file BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT;
","
-- Where an operator is signed in to the page. Only the hash of the cookie is kept. A login has the right of its token, and none once that
-- is revoked; one that was not seen for a month is none.
CREATE TABLE logins (
    hash BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    token BLOB NOT NULL REFERENCES tokens (hash) ON DELETE CASCADE,
    way TEXT NOT NULL,
    browser TEXT NOT NULL,
    came_from TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_token ON logins (token);
","
-- What a person reads of a card: why the message was held, and which row of the audit its document names as the head. Nothing of what
-- was held before.
ALTER TABLE approvals ADD COLUMN held_because TEXT;
ALTER TABLE approvals ADD COLUMN audit_row INTEGER;
CREATE INDEX approvals_decided ON approvals (decided_at) WHERE decided_at IS NOT NULL;
-- Until when people are asked nothing about an agent's messages. A program that does not know of it asks them, and they decide.
CREATE TABLE mutes (
    agent TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
","
-- Of which requests a person was told that they wait, and whether also shortly before their deadline.
CREATE TABLE notified (
    request BLOB PRIMARY KEY,
    again INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
","
-- Passkeys of operators, by the SHA-256 of the credential's id. A row is never deleted, so that a decision can be proven. One has the right
-- of its token, and none once that is revoked. Where a decision's device has a key, that of a passkey has this id; its session is the 16
-- bytes that were given out for it, and its signature all that the browser gave. A program that does not know of it takes none of them.
CREATE TABLE passkeys (
    id BLOB PRIMARY KEY,
    credential BLOB NOT NULL,
    name TEXT NOT NULL,
    public_key BLOB NOT NULL,
    algorithm INTEGER NOT NULL,
    rp_id TEXT NOT NULL,
    token BLOB NOT NULL,
    counter INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    used_at INTEGER,
    removed_at INTEGER
) STRICT, WITHOUT ROWID;
-- Who decides: any who may, companions or passkeys alone, or both. A program that does not know of it has companions decide on all.
ALTER TABLE approvals ADD COLUMN decided_by TEXT NOT NULL DEFAULT 'any';
", include_str!("schema/fewer_pages.sql"), "
-- Which row of the inbox needs a file.
CREATE INDEX local_digest ON local (digest) WHERE digest IS NOT NULL;
","
-- When a part came to the device of the person whom it was for, and when they read it, where the platform tells. Beside the part, whose
-- row is long.
CREATE TABLE seen (
    message INTEGER NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    delivered_at INTEGER,
    read_at INTEGER,
    PRIMARY KEY (message, idx)
) STRICT, WITHOUT ROWID;
","
-- Whose words the turn goes back to that scheduled a task, as JSON. Of a task from before, how far it is trusted stands as it was.
ALTER TABLE tasks ADD COLUMN writers TEXT;
","
-- Other ids of somebody who wrote, as JSON: by which the configuration may name them.
ALTER TABLE users ADD COLUMN same_as TEXT;
"];

/// The last migration that did whatever it had to do. Those after it only add, or stand in [`BREAKING`].
#[cfg(test)]
const LINE: usize = 27;

/// The schema of the release before this program's, to which a hub may be put back; 27 until there is a release. At each
/// release it becomes the schema of that release.
const RELEASED: u32 = 27;

/// The migrations that change what is stored, by their numbers, beginning with 1: no program from before one of them can use a
/// database from after it.
const BREAKING: &[u32] = &[27, 35];

/// How many migrations a database has seen.
pub(super) fn version(db: &Connection) -> rusqlite::Result<u32> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod additive;
#[cfg(test)]
mod tests;
