//! A webhook's profile: keys of the configuration, capabilities, format and limits.

use gatepost_chunk::Unit;

use crate::{
    channels::{
        Capabilities,
        formats::{Format, ToolResults},
        limits::Limits,
    },
    render::{Flavour, Markup, Tables},
    settings::{Key, example, key},
};

/// `[channels.webhook.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    example("url", "\"https://example.org/hooks/gatepost\"", "Where messages are posted to."),
    example(
        "secret",
        "\"file:secrets/webhook\"",
        "What they are signed with, as Standard Webhooks has it: whsec_ and the base64 of 24 to 64 bytes. The receiver has the same.",
    ).no_identity(),
    example(
        "old_secrets",
        "[\"file:secrets/webhook-old\"]",
        "Up to 4 more secrets, with which every message is signed too while receivers move to a new one.",
    ).no_identity(),
    key(
        "receive",
        "false",
        "Takes what programs outside post to /v1/hooks/ACCOUNT of the hub, in the conversation webhook:ACCOUNT. It wakes an agent by the \
         pattern of a route. An account that only receives needs no url.",
    ).no_identity(),
    key(
        "proof",
        "\"standard\"",
        "With receive: what proves who posts. \"standard\": a signature as Standard Webhooks has it. \"token\": one of proof_secrets in \
         Authorization, as `Bearer TOKEN`, or in proof_header. \"github\": GitHub's signature, X-Hub-Signature-256.",
    ).no_identity(),
    example(
        "proof_secrets",
        "[\"file:secrets/hook\"]",
        "With receive: 1 to 5 secrets, any of which proves it. For \"standard\" whsec_ and the base64 of 24 to 64 bytes, else at least 16 \
         characters.",
    ).no_identity(),
    example(
        "proof_header",
        "\"X-Gitlab-Token\"",
        "With proof = \"token\": another header in which the token may stand, for programs that cannot set Authorization.",
    ).no_identity(),
    example(
        "id_header",
        "\"X-Forgejo-Delivery\"",
        "With proof = \"token\" or \"github\": where the id of a delivery stands, by which it is known when it comes again. Without this key: \
         webhook-id or Idempotency-Key, and for \"github\" X-GitHub-Delivery. What has no id is known for 30 s by all that it says.",
    ).no_identity(),
    example(
        "text_at",
        "\"/data/message\"",
        "Which member of what is posted is its text, as a JSON pointer. Without this key, or if there is none: all of it, as JSON.",
    ).no_identity(),
    key(
        "trust",
        "\"known\"",
        "How far what is posted is trusted: \"known\", as the words of somebody whom you know; or \"unknown\", as a stranger's, if the \
         program hands on what strangers write. A route then needs senders = \"all\" and unknown = \"public\".",
    ).no_identity(),
];

pub(super) const CAPABILITIES: Capabilities = Capabilities {
    channel: "webhook",
    threads: true,
    replies: true,
    silent: true,
    source: true,
    address_hint: "a name of 1 to 64 letters, digits, dots, dashes or underscores",
    ..Capabilities::PLAIN
};

/// A webhook: whoever receives it gets plain text in one piece, and the Markdown beside it.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "webhook",
    flavour: Flavour { markup: Markup::Plain, limit: None, unit: Unit::CodePoints, tables: Tables::Code },
    caption_limit: None,
    tool_results: ToolResults::Plain,
    guide: "- A program receives it in one piece, as plain text and as your Markdown: say what it needs, and no more.\n\
            - In the plain text `||spoiler||` arrives behind the word (spoiler).\n\
            - Headings, lists and tables become tidy lines; a link's address follows its text.\n",
};

/// Whoever receives it says 429.
pub(in crate::channels) const LIMITS: Limits = Limits::NONE;
