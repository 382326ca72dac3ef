//! Every key that the configuration knows, with its documentation: one table, three uses.
//!
//! `gatepost init --full` writes the commented file from it, `docs/configuration.md` is written from it, and the loader checks a
//! file against it, so a key cannot exist without being documented, and an unknown one is answered with its nearest
//! neighbour. Channels bring their own.

use crate::settings::{Key, example, key};

/// `[hub]`.
pub const HUB: &[Key] = &[
    key(
        "data_dir",
        "\"gatepost-data\"",
        "Where the queue, the keys and the audit live. Relative to this file. One hub at a time. Without this key: systemd's \
         STATE_DIRECTORY, /var/lib/gatepost for /etc/gatepost/gatepost.toml, or else gatepost-data beside this file.",
    ),
    key(
        "listen",
        "\"127.0.0.1:8787\"",
        "Where agents and the command line reach the hub. Keep it on loopback unless a proxy with TLS stands before it.",
    ),
    example(
        "platform_listen",
        "\"127.0.0.1:8791\"",
        "A second address, where /v1/platform/ and /v1/hooks/ are reached and nothing else: what a tunnel or a proxy shows to the \
         internet. Both stay at `listen` too. The bounds of connections are for all addresses together.",
    ),
    key("max_body", "262144", "The longest request body that the hub reads, in bytes."),
    key(
        "max_connections",
        "512",
        "Connections to this address at once, at most 512, and at most half of the descriptors that the system lets the hub \
         have. One agent may use a fifth of them; a connection over that is told to try again.",
    ),
    example(
        "allowlists",
        "\"messaging.json\"",
        "A file of allowlists as other systems have it, {\"agent\": [\"slack:C0123ABC\", \"*\"]}, relative to this file: its \
         entries are added to `allow`, and its agents need no section here. Where a name has spaces there, it has dashes here. \
         No name may be in it twice.",
    ),
    example(
        "hosts",
        "[\"hub.example.org\"]",
        "Names by which the hub is reached, besides localhost and addresses: a proxy's, or its name in your network; with a port \
         behind it, at that port alone. Other names are refused, so that no web page can reach the hub through a name of its own. \
         Over TLS the hub's page is shown under these, and passkeys belong to them.",
    ),
    key(
        "ttl",
        "\"24h\"",
        "How long the hub tries to deliver a message if its sender does not say, and the most that a sender may ask for.",
    ),
];

/// `[web]`.
pub const WEB: &[Key] = &[
    example(
        "listen",
        "\"0.0.0.0:8443\"",
        "Where the page and the HTTP interface are reached over TLS, beside [hub] listen and with the same bounds. It needs cert and \
         key, or tls.",
    ),
    key(
        "tls",
        "\"files\"",
        "\"files\": the certificate is that of cert and key. \"own\", without these: an authority of the hub's own signs one for the names in [hub] \
         hosts, and renews it. Each device that opens the page has to trust that authority first: its certificate is at /ca.pem.",
    ),
    example(
        "cert",
        "\"cert.pem\"",
        "The hub's certificate: a PEM file with those up to its authority behind it. Its name must be in [hub] hosts. gatepost reload \
         reads it and the key again.",
    ),
    example(
        "key",
        "\"key.pem\"",
        "That certificate's private key: a PEM file, readable by the hub alone, \"file:PATH\" or \"credential:NAME\". systemd reads a \
         credential when the hub starts, and not at a reload.",
    ),
];

/// `[queue]`.
pub const QUEUE: &[Key] = &[
    key(
        "max_messages",
        "200000",
        "Messages under way at once: accepted and not ended. Over it, callers are told queue_full.",
    ),
    key(
        "max_bytes",
        "268435456",
        "Bytes of their texts, all together. Over it, callers are told queue_full.",
    ),
    key(
        "dedup",
        "\"30s\"",
        "How long the same message from the same agent to the same place is not sent again, but answered with the first one's \
         receipt; \"0s\" switches this off. It does not apply to calls with an Idempotency-Key.",
    ),
    key(
        "backup_every",
        "\"24h\"",
        "The time between two copies of the database. They are made in data_dir/backups while the hub runs, the first at its \
         first start.",
    ),
    key("backups", "7", "Copies to keep, and beside them the one that the next is made of. 0 makes none."),
    key("retention", "\"720h\"", "How long an ended message is kept, with its text and its reason."),
    key(
        "audit_retention",
        "\"8760h\"",
        "How long a row of the audit is kept. A signed checkpoint stands for those that are purged.",
    ),
];

/// `[files]`.
pub const FILES: &[Key] = &[
    key("max_size", "26214400", "The largest file of a message, in bytes."),
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
    example(
        "allow_private_urls",
        "[\"nas.home\", \"192.168.1.0/24\"]",
        "Hosts and networks inside the house from which files may be fetched. All others must be public, at every redirect \
         and whatever their names resolve to.",
    ),
];

/// The same of every broker that somebody runs.
const BROKER_CERT: Key = example(
    "cert",
    "\"hub.pem\"",
    "The hub's own certificate for that broker, if it asks for one: a PEM file with the chain up to its authority.",
);
const BROKER_KEY: Key = example(
    "key",
    "\"hub-key.pem\"",
    "That certificate's private key: a PEM file, readable by the hub alone, or \"credential:NAME\".",
);

/// `[broker]`.
pub const BROKER: &[Key] = &[
    key("listen", "\"127.0.0.1:1883\"", "Where the embedded MQTT broker listens for companions."),
    example(
        "url",
        "\"mqtts://broker.home:8883\"",
        "A broker that you run, instead of the embedded one. mqtts:// uses TLS, and the broker's certificate must be for this \
         name; mqtt:// is not protected.",
    ),
    example("user", "\"hub\"", "The hub's user name on that broker."),
    example("password", "\"file:secrets/mqtt\"", "The hub's password on that broker."),
    example(
        "ca",
        "\"broker-ca.pem\"",
        "The only authorities that may sign that broker's certificate: a PEM file. Without this key, those that this machine \
         trusts.",
    ),
    BROKER_CERT,
    BROKER_KEY,
];

/// `[agents.NAME]`.
pub const AGENT: &[Key] = &[
    example(
        "allow",
        "[\"slack:C0123ABC\", \"telegram:-100123\"]",
        "Targets that this agent may write to: \"channel:address\", \"channel:*\", or \"*\" for any. Without an entry nothing \
         is sent. A star stands for any address only by itself. An entry means a person or place, under each address that the \
         platform knows as theirs. It is evaluated again when a message leaves.",
    ),
    example(
        "hold",
        "[\"email:*\"]",
        "Targets that it may write to, but outside their own conversation only after a person approved, whatever \
         cross_context says. An entry that can match nothing is refused. If a channel has an entry, an address there is also \
         held if nobody can say whose it is. ada@example.org holds ada+shop@example.org.",
    ),
    key(
        "cross_context",
        "\"hold\"",
        "What happens to a message that leaves the conversation its turn came from: \"hold\" asks a person, \"allow\" sends, \
         \"deny\" refuses.",
    ),
    example(
        "by_companion",
        "[\"email:*\", \"person:owner\"]",
        "Targets about which companions decide, and no passkey: what is held on its way there, whatever holds it, waits for a companion. \
         person:owner is what the agent asks a person. An entry stands for the same addresses as one of hold.",
    ),
    key(
        "by_web",
        "[]",
        "The same for passkeys, which \"web\" among approval.approvers lets decide. A target on both lists takes a companion and a passkey, \
         each.",
    ),
    key("decorate", "true", "Puts \"[agent, from channel] \" before a message that leaves its conversation."),
    example(
        "accounts",
        "{ email = \"work\" }",
        "The only account that this agent writes from on a channel with several. A channel with one account needs no entry.",
    ),
    example(
        "attach_from",
        "\"/srv/engineer/out\"",
        "The folder from which it attaches files by their path. Nothing outside of it is read, and no link is followed. \
         Without this key the agent can only hand its files in. If the path itself is a link, it is resolved when the \
         configuration is read. A folder that has the hub's data, the configuration or a secret in it is refused.",
    ),
    key(
        "allow_linked_files",
        "false",
        "Attaches files of that folder that have other names too (hard links). A link may lead to a file elsewhere: whoever \
         can make links in the folder can have such a file sent.",
    ),
    key(
        "allow_other_owners",
        "false",
        "Attaches files of that folder that belong to another user than the folder does. Set it if several users put files there.",
    ),
    example(
        "attach_urls",
        "[\"files.example.org\", \"*.example.net\"]",
        "Hosts from which it may have files fetched, \"*\" for any public one. A request to a host is a message too, and \
         nobody approves it: without an entry nothing is fetched.",
    ),
    key(
        "blocks_only",
        "false",
        "Sends of its turns only what stands in <message to=\"name\"> blocks; all other text is scratch paper, and logged.",
    ),
    key(
        "per_minute",
        "600",
        "How many messages it may submit in a minute; 0 for no limit. More are refused.",
    ),
];

/// `[reply]`.
pub const REPLY: &[Key] = &[key(
    "quiet",
    "[\"NO_REPLY\", \"HEARTBEAT_OK\"]",
    "Words by which an agent says that there is nothing to say. A turn of only such a word sends nothing. At the beginning or \
     end of a longer text they are removed.",
)];

/// `[voice]`.
pub const VOICE: &[Key] = &[
    key("enabled", "true", "Whether anything is spoken. If not, it is sent as text."),
    key(
        "timeout",
        "\"30s\"",
        "How long speaking a text may take, at most 5m. Whoever asked waits for it; what takes longer is sent as text.",
    ),
    key("max_text", "4096", "The longest text that is spoken, in characters."),
    example(
        "url",
        "\"https://api.openai.com/v1\"",
        "A service with OpenAI's interface, instead of those programs: its address without /audio/speech. Plain http only on \
         this machine. The words go there before anybody has approved them.",
    ),
    example("token", "\"file:secrets/voice\"", "The bearer token that it wants, if any."),
    key("model", "\"tts-1\"", "Which of its models speaks."),
    example(
        "voice",
        "\"alloy\"",
        "Whose voice: a name that the service knows (by default \"alloy\"), or one that espeak-ng knows (\"de\"; espeak-ng \
         --voices lists them).",
    ),
    example(
        "command",
        "[\"/usr/local/bin/speak\", \"--slowly\"]",
        "A program of yours instead of both, by its absolute path, and its arguments. It excludes url, token, model and \
         voice. It reads the text on its standard input, and writes Ogg Opus to its standard output, with exit status 0.",
    ),
];

/// `[approval]`.
pub const APPROVAL: &[Key] = &[
    key("ttl", "\"10m\"", "How long a message waits for a person. After that it is expired and not sent."),
    key(
        "approvers",
        "[\"companion\"]",
        "Who may decide: companions, and with \"web\" also a passkey of an operator, at the hub's page. A passkey shows for which site \
         it signs, and not what: whoever has taken over the hub, or the browser, can have another text signed. A companion shows the \
         text itself.",
    ),
    key(
        "allow_software_companion",
        "false",
        "Pairs a companion that is a program on a computer (gatepost companion run), not a device with buttons of its own, \
         and accepts its decisions. Whoever can read its keys there can approve: set it only if no agent runs as that user. If \
         it is off again, paired ones stay paired and decide nothing.",
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
        "How many messages of one agent people are asked about within an hour; 0 for no limit. Messages over that are held \
         too, and say so; people are asked about each in its turn, as soon as the hour has room.",
    ),
];

/// `[updates]`.
pub const UPDATES: &[Key] = &[
    example(
        "root",
        "\"root.1\"",
        "The file of the root whose releases this hub takes, relative to this file: it says which keys sign them. Without this key, \
         the one that was built into this program, if any.",
    ),
    key(
        "soak",
        "\"24h\"",
        "How long the first companion runs a release without a restart before the next one gets it; \"0s\" does not wait. A card that is \
         decided with it ends the wait.",
    ),
    example(
        "hours",
        "\"02:00-06:00\"",
        "The hours in which companions are offered releases; \"22:00-06:00\" ends on the next day. Without this key: all day.",
    ),
    example("time_zone", "\"Europe/Berlin\"", "Whose hours these are. Without this key: this machine's."),
];

/// `[person]`.
pub const NOTIFY: &[Key] = &[
    key(
        "notify",
        "[]",
        "Where you are told that something waits for you, at most five targets, such as [\"ntfy:gate\"] or [\"telegram:123456\"]. It is the hub \
         that writes there, at most once in two minutes, and again when a quarter of the time is left. Nothing can be decided there.",
    ),
    key(
        "show",
        "\"count\"",
        "How much is told: \"count\" (how many wait, and a link), \"who\" (also which agent wants to write where), or \"text\" (also how the \
         text begins: whoever carries the notification can read it).",
    ),
    example(
        "page",
        "\"https://hub.example.org\"",
        "The address of the hub's page on the device where you read this. Without this key: the first name of hub.hosts, over TLS (at the port of web.listen, if that is set), or else \
         localhost.",
    ),
    example(
        "quiet_hours",
        "\"22:00-07:00\"",
        "The hours in which nothing is told. At their end you are told of what still waits.",
    ),
    example("time_zone", "\"Europe/Berlin\"", "Whose hours these are. Without this key: this machine's."),
];

/// `[homeassistant]`.
pub const HOME_ASSISTANT: &[Key] = &[
    example(
        "broker",
        "\"mqtts://homeassistant.local:8883\"",
        "The broker of Home Assistant's MQTT integration. mqtts:// uses TLS, and the broker's certificate must be for this name; mqtt:// is \
         not protected.",
    ),
    example("user", "\"gatepost\"", "The hub's user name on that broker."),
    example("password", "\"file:secrets/homeassistant\"", "The hub's password on that broker."),
    example(
        "ca",
        "\"homeassistant-ca.pem\"",
        "The only authorities that may sign that broker's certificate: a PEM file. Without this key, those that this machine \
         trusts.",
    ),
    BROKER_CERT,
    BROKER_KEY,
    key("prefix", "\"homeassistant\"", "What the discovery topics of Home Assistant begin with."),
    key(
        "notify_to",
        "[]",
        "Where the notifications go that Home Assistant sends through the gate, at most five targets, such as [\"ntfy:gate\"]. They are \
         messages of the agent homeassistant, and judged by its section. Whoever may publish at the broker can send them.",
    ),
    key(
        "install",
        "false",
        "Whether Home Assistant may ask for updates of the hub and of companions. It can ask for a signed, newer release and for nothing \
         else, and a companion still asks the person in front of it.",
    ),
];

/// `[hooks.NAME]`.
pub const HOOK: &[Key] = &[
    key(
        "on",
        "\"message_sending\"",
        "When it runs: \"message_sending\", once, before a message is judged, shown and sent, and it may rewrite or cancel it; \
         \"message_sent\", after it was sent, has failed, or may have arrived; \"before_tool_call\", before anything that an agent calls \
         is done, and it may change or refuse that; or \"tool_result\", with what was answered, to which it may add. Of what people \
         write, before it is taken: \"inbound_sender\", who somebody is; \"inbound_access\", whether they may write to an agent; \
         \"inbound_scope\", whether that wakes it; \"inbound_request\", whether a person is asked where no agent is.",
    ),
    key(
        "timeout",
        "\"10s\"",
        "How long it may take, at most 5m. A message_sending hook that takes longer fails its message, and a before_tool_call hook its \
         call: they are never skipped. Where a tool_result hook takes longer, the result goes as it was, and says so. An inbound hook \
         that takes longer lets nothing through: it is asked again when the message comes again, ten times in all.",
    ),
    example(
        "command",
        "[\"/usr/local/bin/redact\", \"--strict\"]",
        "A program, by its absolute path, and its arguments. It reads a JSON object with id, agent, to, message and attachments on its \
         standard input, and answers on its standard output with {\"action\": \"pass\"}, {\"action\": \"rewrite\", \"message\": \
         \"...\"} or {\"action\": \"cancel\", \"reason\": \"...\"} and exit status 0. Anything else fails the message. Around a tool it \
         reads hook, id, agent, tool, arguments and, on tool_result, result; it answers a rewrite with \"arguments\" or with a \
         \"result\", and may answer a result with {\"action\": \"annotate\", \"note\": \"...\"}. An inbound hook reads hook, agent, channel, \
         account, address, sender, user, scope and text, and answers {\"action\": \"pass\"} or {\"action\": \"drop\", \"reason\": \"...\"}; \
         inbound_sender has {\"action\": \"is\", \"user\": \"telegram:123456\"} instead of that.",
    ),
    example(
        "url",
        "\"http://127.0.0.1:9000/hook\"",
        "An HTTP service instead of a program. It is posted the same object and answers the same, with status 200. The header \
         Idempotency-Key is the message's id. Plain http only on this machine.",
    ),
    example(
        "tools",
        "[\"message\", \"send_message\", \"reply\"]",
        "On before_tool_call and tool_result: the tools that it is asked about, of message, send_message, reply, receipt, cancel and \
         inbox; all of them without it. What POST /v1/messages takes is a call of message.",
    ),
    key("enabled", "true", "Whether it runs."),
    example("token", "\"file:secrets/hook\"", "The bearer token that the service wants, if any."),
    example(
        "builtin",
        "\"secrets\"",
        "The hub's own, instead of both: \"secrets\" cancels a message with a token of the hub or a private key in its text, \
         captions, file names or spoken words. \"guide\" (on = \"tool_result\") tells a model how to write for a channel, with \
         a session's first use of it; it is there without a section, and a section of its own switches it off: enabled = false.",
    ),
];

/// `[contexts]`.
pub const CONTEXTS: &[Key] = &[key(
    "ttl",
    "\"24h\"",
    "How long an agent may answer in a conversation after the message that it answers.",
)];

/// `[routing]`.
pub const ROUTING: &[Key] = &[
    example(
        "default_agent",
        "\"engineer\"",
        "The agent for conversations that no route names. If somebody writes to one of the hub's accounts there, or mentions it, a person \
     is asked whether this agent may answer. Without this key such messages are dropped.",
    ),
    key(
        "lease",
        "\"5m\"",
        "How long a turn belongs to the program that took it, if that says nothing meanwhile. A turn that is not ended by then is \
         given out again.",
    ),
];

/// `[people.NAME]`.
pub const PERSON: &[Key] = &[
    example(
        "ids",
        "[\"telegram:123456\", \"phone:+15551234567\"]",
        "Their ids, \"channel:id\", as gatepost people shows them. phone: stands for WhatsApp, Signal and iMessage. Every spelling of an \
         id counts as the same; a name that can be given to another, and what can be nobody's id, is refused.",
    ),
    key(
        "scope",
        "\"known\"",
        "How far their words are trusted: \"owner\" (cross_context decides what may leave the conversation), \"known\" (it is held \
         whatever cross_context says), or \"blocked\" (nothing of theirs is read). Of anybody else, nothing leaves the conversation.",
    ),
];

/// `[routes.NAME]`.
pub const ROUTE: &[Key] = &[
    example(
        "from",
        "[\"telegram:*\"]",
        "The conversations: \"channel:address\", \"channel:*\", or \"*\". An address counts by whom it stands for, as in allow. If several routes of one agent name a conversation, the \
         closest entry counts. Several agents may be in one conversation; each is judged by itself.",
    ),
    example("account", "\"work\"", "The only account that it is for, on a channel with several."),
    example("agent", "\"engineer\"", "The agent that is woken."),
    key(
        "engage",
        "\"mention\"",
        "What wakes it: \"mention\" (a direct message, a mention that the platform marks, or an answer to a message of the hub's), \
         \"mention-sticky\" (the same, or any message within a day after the agent was last woken there), or \"pattern\".",
    ),
    example(
        "pattern",
        "\"(?i)^hub\\\\b\"",
        "With engage = \"pattern\": a regular expression that the text has to match; \".\" is any message, also one without a text.",
    ),
    key(
        "senders",
        "\"known\"",
        "Whose messages wake it: \"known\" (people of the configuration, and those that were let in) or \"all\".",
    ),
    example(
        "unknown",
        "\"request_approval\"",
        "What happens to a stranger's message that would wake it: \"request_approval\" (it waits, and a person is asked), \"strict\" \
         (it is dropped), or \"public\" (it goes on). Without this key, strangers are asked about on accounts of bots, and dropped \
         on those of people (e-mail, Signal, WhatsApp and iMessage) and on ntfy.",
    ),
    key(
        "ignored",
        "\"drop\"",
        "What happens to messages that do not wake it: \"drop\", or \"accumulate\" (the newest 50 are read with the next one that does).",
    ),
    key(
        "session",
        "\"shared\"",
        "Which session of the agent they belong to: \"shared\" (one for each conversation), \"per-thread\", or \"agent-shared\" (one for \
         all conversations of this route).",
    ),
    key(
        "queue",
        "\"collect\"",
        "What happens to messages while the agent is at work: \"collect\" (the next turn has all of an author's in a thread) or \
         \"followup\" (each is a turn of its own).",
    ),
    key("typing", "true", "Shows in the conversation that an answer is being written, if the platform can."),
    key("read_marks", "true", "Marks messages as read when the agent takes them, if the platform can."),
];

/// `[wake.NAME]`.
pub const WAKE: &[Key] = &[
    example("agent", "\"engineer\"", "The agent. It needs no token for this."),
    example(
        "command",
        "[\"/usr/local/bin/engineer\", \"--once\"]",
        "A program, by its absolute path, and its arguments: run once for each turn. What it writes on its standard output, in UTF-8, \
         is the reply; without any there is none. If it ends with another status than 0, the turn is given out again. It gets the \
         variables PATH, HOME, LANG, USER, GATEPOST_TURN, GATEPOST_SESSION and GATEPOST_CONTEXT, and no other.",
    ),
    key(
        "input",
        "\"json\"",
        "With command: what the program reads on its standard input. \"json\" is the turn as GET /v1/turns has it, \"text\" only what \
         was said.",
    ),
    example(
        "url",
        "\"http://127.0.0.1:9000/turn\"",
        "An HTTP service. It is posted what GET /v1/turns answers, and answers {\"text\": \"...\"} or {\"response\": {...}} as POST \
         /v1/reply takes them; or 202, or nothing, and ends the turn itself by its lease. Plain http only on this machine.",
    ),
    example(
        "secret",
        "\"file:secrets/wake\"",
        "With url: the secret that requests are signed with, as Standard Webhooks has it. Make one with: (umask 077; echo whsec_$(head -c \
         32 /dev/urandom | base64) > FILE)",
    ),
    example(
        "openai",
        "\"https://api.openai.com/v1\"",
        "A model behind any endpoint that speaks as OpenAI's does: the address before /chat/completions. It is given the session's \
         history, what was said, and the hub's tools. Plain http only on this machine.",
    ),
    example(
        "token",
        "\"file:secrets/model\"",
        "With openai: the bearer token that the endpoint wants, if any.",
    ),
    example("model", "\"gpt-5-mini\"", "With openai: the name of the model."),
    example(
        "prompt",
        "\"You are the house's engineer. Answer briefly.\"",
        "With openai: what the model is told to begin with. The hub adds how a turn is written.",
    ),
    key(
        "max_tokens",
        "4096",
        "With openai: tokens that the model may write in one turn, all requests together.",
    ),
    key(
        "history",
        "30",
        "With openai: the newest lines of the session that it is given, at most 500 and 64 KB.",
    ),
    key("timeout", "\"5m\"", "How long a turn may take, at most 1h. Then it is given out again."),
    key(
        "at_once",
        "2",
        "Turns of this agent at once, at most 16. Of one session there is never more than one.",
    ),
];

/// `[heartbeat.NAME]`.
pub const HEARTBEAT: &[Key] = &[
    key("enabled", "true", "Whether there are heartbeats."),
    key(
        "every",
        "\"30m\"",
        "The time between two heartbeats, at least \"1m\". There are never more than 48 in a day.",
    ),
    key(
        "target",
        "\"none\"",
        "Where the text goes that a heartbeat's turn returns: \"none\", \"last\" (the direct conversation in which an owner last wrote \
         to the agent; nowhere before that), or a target such as \"telegram:123456\". It goes there without a hold if the agent's \
         `allow` has the target and its `hold` has not. Whatever else the turn sends is cross-context.",
    ),
    example(
        "account",
        "\"work\"",
        "The account that it goes from, on a channel with several. With \"last\": only conversations of this account count.",
    ),
    example(
        "active_hours",
        "\"07:00-22:00\"",
        "The hours in which there are heartbeats; \"22:00-06:00\" ends on the next day. Without this key: all day.",
    ),
    example(
        "time_zone",
        "\"Europe/Berlin\"",
        "The time zone of active_hours, and of the day that has 48 at most. Without this key: that of this machine.",
    ),
    example(
        "list",
        "\"HEARTBEAT.md\"",
        "A file of things to look after, at most 16 KB, relative to this file; the agent reads it with each heartbeat. If nothing is on \
         it (headings, comments and empty bullets are nothing) and nothing new has come, there is no heartbeat.",
    ),
    example(
        "prompt",
        "\"Look after the greenhouse.\"",
        "What the agent is told, instead of the hub's own words; the list follows it.",
    ),
    key("show_ok", "false", "Sends the text if the agent says HEARTBEAT_OK, beside at most 300 characters."),
    key("show_alerts", "true", "Sends any other text."),
    key(
        "use_indicator",
        "false",
        "Marks them: HEARTBEAT_OK is sent as \"♥\" alone, and any other text begins with it.",
    ),
    example(
        "visibility",
        "{ telegram = { show_ok = true }, \"telegram:work\" = { show_alerts = false } }",
        "The three keys above for one channel, or for one account of it. The account comes before the channel.",
    ),
];

/// A section of the file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name; `NAME` stands for one of the reader's own.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

const fn section(name: &'static str, about: &'static str, keys: &'static [Key]) -> Section {
    Section { name, about, keys }
}

/// The sections, in the order of the file. The channels come behind them: see [`crate::channels::registry::KINDS`].
pub const SECTIONS: &[Section] = &[
    section("hub", "The hub itself: where its data is, and where it listens.", HUB),
    section(
        "web",
        "TLS of the hub's own, for the page and for agents on other machines. Without this section the hub speaks none, and the page is on \
         this machine, or behind a proxy.",
        WEB,
    ),
    section("queue", "Messages under way, and how long ended ones are kept.", QUEUE),
    section("files", "Files that go along with messages.", FILES),
    section("broker", "The MQTT broker, by which companions reach the hub.", BROKER),
    section("approval", "Who decides about held messages, and until when.", APPROVAL),
    section("person", "You: where you are told that something waits for your yes or no.", NOTIFY),
    section(
        "homeassistant",
        "Home Assistant: the hub and its companions as devices there, by MQTT. It is told numbers, agents and channels, and never texts or \
         addresses; nothing there approves. Without a broker here the hub is not connected.",
        HOME_ASSISTANT,
    ),
    section(
        "updates",
        "New firmware for companions (gatepost ota). One companion goes first, and never so many at once that too few could approve.",
        UPDATES,
    ),
    section("contexts", "How long a conversation can be answered.", CONTEXTS),
    section("routing", "What happens to messages in conversations that no route names.", ROUTING),
    section(
        "people.NAME",
        "People, by the ids that platforms give them. Whoever is not here, and was not let in, is a stranger.",
        PERSON,
    ),
    section(
        "routes.NAME",
        "Which agent is woken by what people write. An account reads it with receive = true.",
        ROUTE,
    ),
    section(
        "wake.NAME",
        "How an agent is brought its turns that does not ask for them. Each is called in one way: command, url or openai. What cannot be \
         reached is called again, after a pause that grows to five minutes, and no turn is lost meanwhile. An agent without a section \
         here takes its turns with GET /v1/turns or the tool next_turn.",
        WAKE,
    ),
    section("reply", "What becomes of the text of an agent's turn.", REPLY),
    section(
        "voice",
        "A voice, for voice messages in the words of an agent. Without this section espeak-ng and opusenc speak, if the machine has \
         both when the hub starts (Debian: espeak-ng, opus-tools). Otherwise the words are sent as text.",
        VOICE,
    ),
    section(
        "book",
        "Names for targets: an agent may write to \"ann\" instead of the target behind it. The allowlists count for that target, \
         and whoever approves sees both.",
        BOOK,
    ),
    section(
        "agents.NAME",
        "Agents. Each has a token (gatepost agent add NAME) and a section here; without a section it may send nothing. If a turn \
         belongs to no conversation, such as a timer's or the shell's, all that it sends is cross-context.",
        AGENT,
    ),
    section(
        "heartbeat.NAME",
        "Heartbeats: the agent of this name is woken from time to time to look whether something needs doing. It is not while it is \
         busy, while no program takes its turns, or if its target is not ready. The same text is sent once in 24 hours. Three \
         failures in a row stop it, until gatepost reload.",
        HEARTBEAT,
    ),
    section(
        "hooks.NAME",
        "Hooks, run in the order of their names, each on what the one before it left. A message that they rewrite is stored, \
         judged, shown and sent as they left it.",
        HOOK,
    ),
];

/// `[book]`, whose keys are names that its reader chooses.
const BOOK: &[Key] = &[example("ann", "\"local:ann\"", "The target behind a name of yours.")];
