-- A message writes fewer pages. Foreign keys are not looked at while this runs: tables are made anew that others refer to, and
-- that triggers of others name while there is none.
PRAGMA legacy_alter_table = ON;

-- What the house counts, in rows that a message writes in any case: where `channel` is empty, `state` says of what `n` is the count. A
-- number of `messages` and `inbox` is never given twice, whatever is deleted: callers ask for what came after one.
DROP TABLE depth;
INSERT INTO totals SELECT '', 'under_way', count(*) FROM messages WHERE state IN ('accepted', 'held', 'ready', 'sending');
INSERT INTO totals SELECT '', 'under_way_bytes', coalesce(sum(octet_length(text)), 0) FROM messages
    WHERE state IN ('accepted', 'held', 'ready', 'sending');
INSERT INTO totals SELECT '', 'last_message', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0);
INSERT INTO totals SELECT '', 'last_notice', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'inbox'), 0);
CREATE VIEW depth AS SELECT
    (SELECT n FROM totals WHERE channel = '' AND state = 'under_way') AS messages,
    (SELECT n FROM totals WHERE channel = '' AND state = 'under_way_bytes') AS bytes;

CREATE TABLE messages_new (
    seq INTEGER PRIMARY KEY,
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
    ended_at INTEGER,
    -- What hooks made of it, once: from then on its text is theirs, and what its agent wrote is kept beside it.
    hooked_at INTEGER,
    written TEXT,
    -- The row of the audit in which it came to its end: the order in which an agent has said things.
    ended_seq INTEGER,
    best_effort INTEGER NOT NULL DEFAULT 0,
    resend INTEGER NOT NULL DEFAULT 0,
    -- Files that go along; which message needs which file is looked up by the hash.
    attachments TEXT,
    -- What it does where that is more than to bring a text and files.
    deed TEXT,
    -- The name in the house's address book under which a target was meant, for whoever approves.
    known_as TEXT,
    -- The messages that an operation names.
    touched TEXT,
    -- What was written where its address is an identity, and why nobody knew whose it is.
    written_as TEXT,
    unidentified TEXT,
    -- What an operator has said or done about parts of which nobody knew whether they arrived.
    history TEXT,
    -- Who its account is, as a hash of its settings. Nothing for what was accepted before there was one.
    account_is BLOB,
    -- The session that it is said in: that of its destination. What was accepted before has that of its turn, in `origin`.
    session TEXT
) STRICT;
INSERT INTO messages_new SELECT seq, id, agent, state, action, channel, account, address, thread, reply_to, silent, origin, text,
    idempotency_key, fingerprint, accepted_at, deadline, due_at, released, attempts, code, reason, ended_at, hooked_at, written,
    ended_seq, best_effort, resend, attachments, deed, known_as, touched, written_as, unidentified, history, account_is, session
    FROM messages ORDER BY seq;
DROP TABLE messages;
ALTER TABLE messages_new RENAME TO messages;
CREATE UNIQUE INDEX messages_idempotency ON messages (agent, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX messages_agent ON messages (agent, seq);
-- What is under way stands in one of two indexes, small however long the history. What goes at once is in the second alone.
CREATE INDEX messages_waiting ON messages (state, channel) WHERE state IN ('accepted', 'held');
-- Every lane in its order, with all that decides when its head goes: whoever looks at it reads nothing else.
CREATE INDEX messages_lanes ON messages
    (channel, account, address, released, state, accepted_at, due_at, deadline)
    WHERE state IN ('ready', 'sending');
-- What goes when its retention is over is found without a look at what stays.
CREATE INDEX messages_ended ON messages (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX messages_said ON messages (agent, ended_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX messages_session ON messages (agent, session, ended_at) WHERE ended_at IS NOT NULL AND session IS NOT NULL;
-- The edits of a message, for the newest.
CREATE INDEX messages_edits ON messages (deed ->> '$.message') WHERE deed ->> '$.do' = 'edit';
-- Whoever looks for the messages of a turn repeats this expression. A row that somebody tampered with is no JSON, and no error here.
CREATE INDEX messages_turn ON messages (iif(json_valid(origin), origin ->> '$.turn', NULL))
    WHERE iif(json_valid(origin), origin ->> '$.turn', NULL) IS NOT NULL;
CREATE TRIGGER messages_enter AFTER INSERT ON messages BEGIN
    INSERT INTO totals VALUES (new.channel, 'accepted', 1) ON CONFLICT DO UPDATE SET n = n + 1;
    UPDATE totals SET n = max(n, new.seq) WHERE channel = '' AND state = 'last_message';
    UPDATE totals SET n = n + iif(state = 'under_way', 1, octet_length(new.text))
        WHERE channel = '' AND state IN ('under_way', 'under_way_bytes')
            AND new.state IN ('accepted', 'held', 'ready', 'sending');
END;
CREATE TRIGGER messages_end AFTER UPDATE OF state ON messages
    WHEN old.state IN ('accepted', 'held', 'ready', 'sending')
        AND new.state NOT IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE totals SET n = n - iif(state = 'under_way', 1, octet_length(old.text))
        WHERE channel = '' AND state IN ('under_way', 'under_way_bytes'); END;
CREATE TRIGGER messages_again AFTER UPDATE OF state ON messages
    WHEN old.state NOT IN ('accepted', 'held', 'ready', 'sending')
        AND new.state IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE totals SET n = n + iif(state = 'under_way', 1, octet_length(new.text))
        WHERE channel = '' AND state IN ('under_way', 'under_way_bytes'); END;
CREATE TRIGGER messages_text AFTER UPDATE OF text ON messages
    WHEN new.state IN ('accepted', 'held', 'ready', 'sending')
    BEGIN UPDATE totals SET n = n + octet_length(new.text) - octet_length(old.text)
        WHERE channel = '' AND state = 'under_way_bytes'; END;
-- How many messages came to what, counted by the rows themselves; it outlives them.
CREATE TRIGGER totals_state AFTER UPDATE OF state ON messages
    WHEN new.state NOT IN ('accepted', 'ready', 'sending')
    BEGIN INSERT INTO totals VALUES (new.channel, new.state, 1) ON CONFLICT DO UPDATE SET n = n + 1; END;

-- What the hub has to tell agents.
CREATE TABLE inbox_new (
    seq INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    message TEXT NOT NULL,
    notice TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- What somebody entered into a form of a message, and the platform's own id of that, by which it is taken once.
    entry TEXT,
    entry_id TEXT
) STRICT;
INSERT INTO inbox_new SELECT seq, agent, message, notice, at, entry, entry_id FROM inbox ORDER BY seq;
DROP TABLE inbox;
ALTER TABLE inbox_new RENAME TO inbox;
CREATE INDEX inbox_agent ON inbox (agent, seq);
CREATE INDEX inbox_message ON inbox (message);
CREATE UNIQUE INDEX inbox_entries ON inbox (entry_id) WHERE entry_id IS NOT NULL;
CREATE TRIGGER inbox_last AFTER INSERT ON inbox
    BEGIN UPDATE totals SET n = max(n, new.seq) WHERE channel = '' AND state = 'last_notice'; END;

-- The `local` channel: what arrived in the house itself. A row is written with the end of its part and never deleted, so no number
-- comes twice; only what was interrupted in a program from before is looked for by its key.
CREATE TABLE local_new (
    seq INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT,
    reply_to TEXT,
    part_key TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    attachment TEXT,
    digest BLOB
) STRICT;
INSERT INTO local_new SELECT seq, account, address, thread, reply_to, part_key, text, at, attachment, digest FROM local ORDER BY seq;
DROP TABLE local;
ALTER TABLE local_new RENAME TO local;

-- What is looked for once a day is worth no index of its own, and neither is what is a handful.
DROP INDEX sessions_last;
DROP INDEX inbound_keys_at;
DROP INDEX turns_until;

PRAGMA legacy_alter_table = OFF;
