//! Every key that the configuration knows, with its documentation: one table, two uses.
//!
//! `gatepost init` writes the commented file from it and the loader checks a file against it, so a key cannot exist
//! without being documented, and an unknown one is answered with its nearest neighbour. Channels bring their own.

use crate::settings::{Key, key};

/// `[hub]`.
pub const HUB: &[Key] = &[
    key(
        "data_dir",
        "\"gatepost-data\"",
        "Where the queue, the keys and the audit live. Relative to this file. One hub at a time.",
    ),
    key(
        "listen",
        "\"127.0.0.1:8787\"",
        "Where agents and the command line reach the hub. Keep it on loopback unless a proxy with TLS stands before it.",
    ),
    key("max_body", "262144", "The longest request body that is read, in bytes."),
    key(
        "max_connections",
        "512",
        "Connections to this address at once, at most 512, and at most half of the descriptors that the system lets the hub have. One agent \
         has a fifth of them at most; what is over it is told to try again.",
    ),
    key(
        "allowlists",
        "\"messaging.json\"",
        "A file of allowlists as other houses have it, {\"agent\": [\"slack:C0123ABC\", \"*\"]}, relative to this file: its entries are \
         added to `allow`, and its agents need no section here. A name has dashes here where it has spaces there. No name \
         may stand there twice.",
    ),
    key(
        "hosts",
        "[\"hub.example.org\"]",
        "Names by which agents reach /mcp, where it is not by this machine's own: others are refused, so that no page in a browser gets in by a name of its own.",
    ),
    key(
        "ttl",
        "\"24h\"",
        "How long a message may try to arrive when its sender does not say, and the most that a sender may say.",
    ),
];

/// `[queue]`.
pub const QUEUE: &[Key] = &[
    key(
        "max_messages",
        "200000",
        "Messages under way at once: accepted and not yet at their end. Over it, callers are told queue_full.",
    ),
    key(
        "max_bytes",
        "268435456",
        "Bytes of their texts, all together. Over it, callers are told queue_full.",
    ),
    key(
        "dedup",
        "\"30s\"",
        "For how long the same message again, from the same agent to the same place, is answered with the first one's receipt \
         and not sent; \"0s\" for not at all. A call with an Idempotency-Key says itself which are the same.",
    ),
    key(
        "backup_every",
        "\"24h\"",
        "Between two copies of the database, made in data_dir/backups while the hub runs; the first at its first start.",
    ),
    key("backups", "7", "Copies to keep. 0 makes none."),
    key(
        "retention",
        "\"720h\"",
        "How long a message is kept after its end, with its text and its reason, whatever the end was.",
    ),
    key(
        "audit_retention",
        "\"8760h\"",
        "How long a row of the audit is kept. A signed checkpoint stands for those that are purged.",
    ),
];

/// `[files]`.
pub const FILES: &[Key] = &[
    key("max_size", "26214400", "Bytes of one file that goes along with a message."),
    key(
        "max_together",
        "52428800",
        "Bytes of all files of one message. Recordings that the hub makes of words are not counted.",
    ),
    key(
        "max_count",
        "8",
        "Files of one message, at most 32. Recordings that the hub makes of words are not counted. A companion lists 12 of \
         both: a message with more cannot be approved there.",
    ),
    key(
        "max_stored",
        "1073741824",
        "Bytes of all files in data_dir/files, where each stays as long as a message in the queue or a row of the local \
         inbox needs it. Over it, callers are told queue_full.",
    ),
    key("url_timeout", "\"1m\"", "How long fetching a file from an address may take, redirects and all."),
    key(
        "allow_private_urls",
        "[\"nas.home\", \"192.168.1.0/24\"]",
        "Hosts and networks inside the house from which files may be fetched. All others must be public, at every redirect \
         and whatever their names resolve to.",
    ),
];

/// `[broker]`.
pub const BROKER: &[Key] = &[
    key("listen", "\"127.0.0.1:1883\"", "Where the embedded MQTT broker listens for companions."),
    key(
        "url",
        "\"mqtts://broker.home:8883\"",
        "A broker that you run, in place of the embedded one. mqtts:// is secured by TLS, and the broker's certificate must be for \
         this name; mqtt:// is not secured at all.",
    ),
    key("user", "\"hub\"", "The hub's user name on that broker."),
    key("password", "\"file:secrets/mqtt\"", "The hub's password on that broker."),
    key(
        "ca",
        "\"broker-ca.pem\"",
        "The authorities, and no others, that may have signed that broker's certificate: a PEM file, relative to this file. Without \
         it, those that this machine trusts.",
    ),
    key(
        "cert",
        "\"hub.pem\"",
        "The hub's own certificate on that broker, where that wants one: a PEM file with those up to its authority.",
    ),
    key("key", "\"hub-key.pem\"", "That certificate's private key: a PEM file, readable by the hub alone."),
];

/// `[agents.NAME]`.
pub const AGENT: &[Key] = &[
    key(
        "allow",
        "[\"slack:C0123ABC\", \"telegram:-100123\"]",
        "Targets that this agent may write to: \"channel:address\", \"channel:*\", or \"*\" for any. No entry, no send. A star stands for any address only by itself. An entry means a person or place, by each of their addresses that the platform knows as the same one. Judged again when a message leaves.",
    ),
    key(
        "hold",
        "[\"email:*\"]",
        "Targets that it may write to, but outside their own conversation only after a person approved, whatever cross_context says. An entry that can match nothing is refused. With an entry on a channel, addresses there are held too while nobody can say whose they are. ada@example.org holds ada+shop@example.org.",
    ),
    key(
        "cross_context",
        "\"hold\"",
        "What happens to a message that leaves the conversation its turn came from: \"hold\" asks a person, \"allow\" sends, \"deny\" refuses.",
    ),
    key("decorate", "true", "Puts \"[agent, from channel] \" before a message that leaves its conversation."),
    key(
        "accounts",
        "{ email = \"work\" }",
        "The only account that this agent writes from on a channel with several. A channel with one account needs no entry.",
    ),
    key(
        "attach_from",
        "\"/srv/engineer/out\"",
        "The folder from which it attaches files by their path, relative to this file. Nothing outside of it, and no link, is \
         followed. Without it the agent hands its files in. Where its path is a link, what that leads to \
         when the configuration is read. A folder that has the hub's data, the configuration or a secret in it is refused.",
    ),
    key(
        "allow_linked_files",
        "false",
        "Attaches files of that folder that have other names too (hard links). Any of them may be elsewhere: who makes a link in the \
         folder has a file from there sent.",
    ),
    key(
        "allow_other_owners",
        "false",
        "Attaches files of that folder that belong to another user than the folder does. Set it if several users put files there.",
    ),
    key(
        "attach_urls",
        "[\"files.example.org\", \"*.example.net\"]",
        "Hosts from which it may have files fetched, \"*\" for any public one. What it asks a host for is a message too, \
         and nobody is asked before it: no entry, no fetching.",
    ),
    key(
        "blocks_only",
        "false",
        "Sends of its turns only what stands in <message to=\"name\"> blocks; all other text is scratch paper, and logged.",
    ),
    key(
        "per_minute",
        "600",
        "How many messages it may hand in within a minute; 0 for as many as come. What is over it is refused.",
    ),
];

/// `[reply]`.
pub const REPLY: &[Key] = &[key(
    "quiet",
    "[\"NO_REPLY\", \"HEARTBEAT_OK\"]",
    "Words by which an agent says that there is nothing to say. A turn of nothing else sends nothing, and at either end of a text they \
     are taken off.",
)];

/// `[voice]`.
pub const VOICE: &[Key] = &[
    key("enabled", "true", "Whether anything is spoken. What may not be is sent as text."),
    key(
        "timeout",
        "\"30s\"",
        "How long speaking a text may take, at most 5m. Whoever asked waits for it; what takes longer is sent as text.",
    ),
    key("max_text", "4096", "The longest text that is spoken, in characters."),
    key(
        "url",
        "\"https://api.openai.com/v1\"",
        "In place of those programs, a service that speaks as OpenAI's does: what stands before /audio/speech. Plain http only on \
         this machine. What is to be spoken goes there before anybody has approved it.",
    ),
    key("token", "\"file:secrets/voice\"", "The bearer token that it wants, if any."),
    key("model", "\"tts-1\"", "Which of its models speaks."),
    key(
        "voice",
        "\"alloy\"",
        "Whose voice: a name that the service knows, or one that espeak-ng knows (\"de\"; espeak-ng --voices lists them).",
    ),
    key(
        "command",
        "[\"/usr/local/bin/speak\", \"--slowly\"]",
        "In place of both, a program of yours, by its absolute path, and its arguments, and then none of url, token, model and voice. \
         It reads the text on its standard input, and writes Ogg Opus to its standard output, with exit status 0.",
    ),
];

/// `[approval]`.
pub const APPROVAL: &[Key] = &[
    key("ttl", "\"10m\"", "How long a message waits for a person. After that it is expired and not sent."),
    key("approvers", "[\"companion\"]", "Who may decide. Only companions, for now."),
    key(
        "allow_software_companion",
        "false",
        "Pairs a companion that is a program on a computer (gatepost companion run), not a device with buttons of its own, and accepts its \
         decisions. Whoever can read its keys there can approve: set it only if no agent runs as that user. When it is off again, \
         those that are paired stay so, and decide nothing.",
    ),
    key(
        "quorum",
        "1",
        "How many companions must approve a message before it goes. Each is asked, each counts once, and one that denies ends \
         it for all. A message keeps the number that held when it was held.",
    ),
    key(
        "cards_per_hour",
        "20",
        "How many messages of one agent people are asked about within an hour; 0 for as many as come. What is over it is held \
         too, says so, and is asked about in its turn, as soon as the hour has room for it.",
    ),
];

/// `[hooks.NAME]`.
pub const HOOK: &[Key] = &[
    key(
        "on",
        "\"message_sending\"",
        "When it runs: \"message_sending\", once, before a message is judged, shown and sent, and it may rewrite or cancel it; \
         \"message_sent\", after it was sent, has failed, or may have arrived; \"before_tool_call\", before anything that an agent calls \
         is done, and it may change or refuse that; or \"tool_result\", with what was answered, to which it may add.",
    ),
    key(
        "timeout",
        "\"10s\"",
        "How long it may take, at most 5m. A message_sending hook that takes longer fails its message, and a before_tool_call hook its \
         call: they are never skipped. Where a tool_result hook takes longer, the result goes as it was, and says so.",
    ),
    key(
        "command",
        "[\"/usr/local/bin/redact\", \"--strict\"]",
        "A program, by its absolute path, and its arguments. It reads a JSON object with id, agent, to, message and attachments on its \
         standard input, and answers on its standard output with {\"action\": \"pass\"}, {\"action\": \"rewrite\", \"message\": \
         \"...\"} or {\"action\": \"cancel\", \"reason\": \"...\"} and exit status 0. Anything else fails the message. Around a tool it \
         reads hook, id, agent, tool, arguments and, on tool_result, result; it answers a rewrite with \"arguments\" or with a \
         \"result\", and may answer a result with {\"action\": \"annotate\", \"note\": \"...\"}.",
    ),
    key(
        "url",
        "\"http://127.0.0.1:9000/hook\"",
        "In place of a program, an HTTP service that is posted the same object and answers the same, with status 200. The \
         header Idempotency-Key is the message's id. Plain http only on this machine.",
    ),
    key(
        "tools",
        "[\"message\", \"send_message\", \"reply\"]",
        "On before_tool_call and tool_result: the tools that it is asked about, of message, send_message, reply, receipt, cancel and \
         inbox; all of them without it. What POST /v1/messages takes is a call of message.",
    ),
    key("enabled", "true", "Whether it runs."),
    key("token", "\"file:secrets/hook\"", "The bearer token that the service wants, if any."),
    key(
        "builtin",
        "\"secrets\"",
        "In place of both, the hub's own: \"secrets\" cancels a message with a token of the hub or a private key in its text, captions, \
         file names or spoken words. \"guide\" (on = \"tool_result\") tells a model how to write for a channel, with a session's first use \
         of it; it is there without a section, and a section of its own switches it off: enabled = false.",
    ),
];

/// `[contexts]`.
pub const CONTEXTS: &[Key] = &[key(
    "ttl",
    "\"24h\"",
    "How long an agent may answer in a conversation after the message that it answers.",
)];
