//! E-mail's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use crate::{
    channels::{
        Capabilities, FileForm, FileRules,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    render::{Dialect, Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.email.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example(
        "host",
        "\"mail.example.org\"",
        "The mail server that takes your outgoing mail. Its certificate must bear this name.",
    ),
    key("port", "587", "Its submission port. 587 unless tls is \"implicit\", then 465."),
    key(
        "tls",
        "\"starttls\"",
        "\"starttls\" asks for TLS after the greeting and refuses to go on without it, \"implicit\" speaks TLS from the first byte.",
    ),
    example(
        "from",
        "\"Gatepost <hub@example.org>\"",
        "Whom the mail comes from. The server must let this account send as it.",
    ),
    example(
        "user",
        "\"hub@example.org\"",
        "The name to log in with. Leave it and password out for a server that lets this house send without.",
    ),
    example(
        "password",
        "\"file:secrets/email\"",
        "The password to log in with. A new one in its place is read when the old one is refused.",
    )
    .no_identity(),
    example(
        "ca_file",
        "\"/etc/ssl/home-ca.pem\"",
        "A further certificate authority to trust (PEM), for mail servers with a certificate of your own.",
    ),
    example(
        "hello_name",
        "\"hub.example.org\"",
        "The name this hub greets the server with. By default an address, which submission servers accept.",
    )
    .no_identity(),
    key(
        "receive",
        "false",
        "Reads what people write to this account, over IMAP: what is new in folder from the first connection on. The mailbox stays as it is, unread mail included.",
    )
    .no_identity(),
    example(
        "imap_host",
        "\"imap.example.org\"",
        "The mail server that keeps the mailbox. By default host. Its certificate must bear this name.",
    )
    .no_identity(),
    key("imap_port", "993", "Its IMAP port. 993 unless imap_tls is \"starttls\", then 143.").no_identity(),
    key(
        "imap_tls",
        "\"implicit\"",
        "\"implicit\" speaks TLS from the first byte, \"starttls\" asks for TLS after the greeting and refuses to go on without it.",
    )
    .no_identity(),
    example(
        "imap_user",
        "\"hub@example.org\"",
        "The name to log in to the mailbox with. By default user and password are used.",
    )
    .no_identity(),
    example(
        "imap_password",
        "\"file:secrets/imap\"",
        "The password to log in to the mailbox with. A new one in its place is read when the old one is refused.",
    )
    .no_identity(),
    key(
        "folder",
        "\"INBOX\"",
        "The folder of the mailbox that is read, as the server spells it.",
    )
    .no_identity(),
    example(
        "authserv_id",
        "\"mx.example.org\"",
        "The name by which your mail server signs the Authentication-Results headers that it adds. A sender is believed to be who they say if the topmost header with this name has dmarc=pass; without this key, nobody is.",
    )
    .no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "email",
    threads: true,
    replies: true,
    silent: false,
    address_hint: "a plain address such as ada@example.org",
    // Few servers take more in one mail, and base64 makes a third more of it; a server with a lower bound says so.
    files: Some(FileRules {
        max_size: MAX_FILES,
        everywhere: None,
        max_together: MAX_FILES,
        form: FileForm::Together,
        kinds: &[],
    }),
    personal: true,
    ..Capabilities::PLAIN
};

/// Bytes of all files of one mail.
const MAX_FILES: u64 = 25 * 1024 * 1024;

/// E-mail (RFC 5322): one message, however long.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "email",
    flavour: Flavour {
        markup: Markup::Html(Dialect::Email),
        limit: None,
        unit: Unit::CodePoints,
        tables: Tables::Native,
    },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- Write Markdown; it is sent as HTML with a plain text beside it.\n\
            - The first visible line becomes the subject, so begin with one that says what it is about.\n\
            - `||spoiler||` arrives behind the word (spoiler), and is left out of the subject.\n\
            - Headings, lists, quotes, tables and code all come through. The message is never split.\n",
};

/// The server's 4xx answers.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
