//! WhatsApp's profile: keys of the configuration, capabilities, format and limits.

use std::time::Duration;

use gatepost_chunk::Unit;

use super::{cloud, target};
use crate::{
    channels::{
        Capabilities, DeliveryMode, FileForm, FileRules,
        capabilities::{ButtonRules, PollRules},
        formats::{Format, ToolResults},
        limits::{Limits, rate},
    },
    message::action::Action,
    render::{Flavour, Markup, Notation, Tables},
    settings::{Key, example, key},
};

/// `[channels.whatsapp.ACCOUNT]`.
pub(in crate::channels) const KEYS: &[Key] = &[
    key(
        "kind",
        "\"cloud\"",
        "\"cloud\": Meta's Cloud API. \"evolution\": an Evolution API (version 2) with a phone's session. \"hybrid\": the first, or the second while the first is not ready.",
    ),
    example("phone_number_id", "\"106540352242922\"", "Cloud API: the number's id, not the number itself."),
    example("token", "\"file:secrets/whatsapp\"", "Cloud API: a system user's access token.").no_identity(),
    key("graph_url", "\"https://graph.facebook.com/v24.0\"", "Cloud API: its address, with the version."),
    example(
        "template",
        "\"update\"",
        "Cloud API: a template with one variable, which takes a short text's place where more than 24 hours have passed since the person wrote. Without it such a message fails.",
    ).no_identity(),
    key("template_language", "\"en\"", "Cloud API: the template's language.").no_identity(),
    example("evolution_url", "\"http://127.0.0.1:8080\"", "Evolution API: its address."),
    example("instance", "\"home\"", "Evolution API: the instance's name."),
    example("api_key", "\"file:secrets/evolution\"", "Evolution API: the instance's key.").no_identity(),
    example(
        "app_secret",
        "\"file:secrets/whatsapp-app\"",
        "Cloud API: the app's secret, by which the notifications are believed that Meta sends to /v1/platform/whatsapp/ACCOUNT. They tell what became of a message whose answer was lost and, with receive, what people write.",
    ).no_identity(),
    example(
        "verify_token",
        "\"file:secrets/whatsapp-verify\"",
        "Cloud API: the word that you give to Meta with that address, by which it proves that it is yours.",
    ).no_identity(),
    key(
        "receive",
        "false",
        "Reads what people write to this account. Cloud API: Meta notifies the hub, which takes app_secret and verify_token. Evolution API: the hub asks it each minute.",
    ).no_identity(),
    example(
        "webhook_secret",
        "\"file:secrets/evolution-webhook\"",
        "Evolution API, with receive: what it sends as \"Authorization: Bearer …\" with its notifications to /v1/platform/whatsapp/ACCOUNT, so that messages are read at once. Not beside app_secret.",
    ).no_identity(),
    key(
        "previews",
        "false",
        "Whether links are shown with a preview, which WhatsApp's servers or the phone fetch.",
    ).no_identity(),
];

pub(super) const CLOUD: Capabilities = Capabilities {
    channel: "whatsapp",
    replies: true,
    address_hint: target::HINT,
    // <https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types>
    files: Some(FileRules {
        max_size: 100 * 1024 * 1024,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: cloud::KINDS,
    }),
    actions: &[Action::React],
    // <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages>
    buttons: Some(ButtonRules {
        rows: 3,
        per_row: 3,
        in_all: 3,
        text: 20,
        data: 256,
        data_unit: Unit::CodePoints,
        url: 0,
    }),
    instead: &[
        (Action::Poll, "ask with up to three buttons"),
        (Action::Edit, "send the correction as a reply"),
        (Action::Delete, "send a correction as a reply: the Cloud API cannot remove a message"),
        (Action::Thread, "WhatsApp has no threads: use reply"),
        (Action::ThreadReply, "WhatsApp has no threads: use reply"),
        (Action::Pin, "send it again, or quote it with reply"),
    ],
    personal: true,
    ..Capabilities::PLAIN
};

pub(super) const EVOLUTION: Capabilities = Capabilities {
    address_hint: target::GROUP_HINT,
    // As the field `file` of a form, for which it sets no bound (`multer({ storage: memoryStorage() })`,
    // `src/api/routes/sendMessage.router.ts`): it holds all of it in memory, and once more as base64.
    files: Some(FileRules {
        max_size: 64 * 1024 * 1024,
        everywhere: None,
        max_together: u64::MAX,
        form: FileForm::Captioned,
        kinds: &[],
    }),
    mentions: true,
    actions: &[Action::React, Action::Poll, Action::Delete],
    buttons: None,
    // `pollMessageSchema`; the lengths are WhatsApp's own.
    polls: Some(PollRules {
        options: 10,
        question: 255,
        option: 100,
        unit: Unit::CodePoints,
        multiple: true,
        seconds: 0,
        anonymous: false,
        stand_in: None,
    }),
    instead: &[
        (Action::Edit, "send the correction as a reply"),
        (Action::Thread, "WhatsApp has no threads: use reply"),
        (Action::ThreadReply, "WhatsApp has no threads: use reply"),
        (Action::Pin, "send it again, or quote it with reply"),
    ],
    mode: DeliveryMode::Gateway,
    ..CLOUD
};

pub(super) const HYBRID: Capabilities = Capabilities {
    address_hint: target::EVERY_HINT,
    buttons: CLOUD.buttons,
    mode: DeliveryMode::Hybrid,
    ..EVOLUTION
};

/// WhatsApp: 4,096 characters a text (Cloud API, text messages), captions 1,024.
pub(in crate::channels) const FORMAT: Format = Format {
    channel: "whatsapp",
    flavour: Flavour {
        markup: Markup::Marks(Notation::WhatsApp),
        limit: Some(4096),
        unit: Unit::Utf16,
        tables: Tables::Plain,
    },
    caption_limit: Some(1024),
    tool_results: ToolResults::Plain,
    guide: "- Write for a phone: short paragraphs, little markup.\n\
            - Bold, italic, struck through and code are shown; headings become bold lines.\n\
            - A link's address follows its text. Table rows become plain lines: prefer a list.\n\
            - Nothing can be hidden: `||spoiler||` arrives behind the word (spoiler).\n\
            - A message has 4,096 characters. Longer text is split for you.\n",
};

/// One every six seconds to a person, up to 45 at once on credit; 80 a second a number, incoming ones counted
/// (<https://developers.facebook.com/docs/whatsapp/messaging-limits>, "Throughput", "Pair rate limits").
pub(in crate::channels) const LIMITS: Limits = Limits {
    chat: &[rate(40, Duration::from_secs(6))],
    account: &[rate(20, Duration::from_millis(20))],
    ..Limits::NONE
};
