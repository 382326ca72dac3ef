//! Telegram: one bot, over the Bot API (<https://core.telegram.org/bots/api>).
//!
//! Telegram knows no key and answers no question about what was sent, so a new message whose answer was lost is never sent
//! again; what can be done twice without anybody seeing it (a reaction, an edit, a pin) is. A part carries its own way out:
//! where Telegram cannot read its markup, the text that was approved beside it goes instead, and nothing else.
//!
//! The bot's token is a part of every address. Addresses are therefore never repeated, not in errors and not in traces.
//!
//! Read `request` first: it is what a message becomes. What people write to the bot [`receive`] reads. A public name (`@channelname`) is taken because people know no other
//! address of a channel; it can be given to another one, a number cannot, so a number is the better target.

pub(super) mod answer;
mod client;
#[cfg(test)]
pub(super) mod contract;
mod media;
pub(super) mod profile;
pub mod receive;
mod request;
#[cfg(test)]
mod scenarios;
mod target;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;

pub(in crate::channels) use self::target::person_id;
use self::{
    client::Client,
    profile::{CAPABILITIES, MAX_TOPIC_NAME},
    receive::{Listener, Tempo},
    request::Request,
};
use super::{
    Adapter, Capabilities, Delivered, Failure, IdScope, NotReady, OperationRequest, OutgoingPart, PartKey,
    RateHints, Receiver, Redelivery, Refused, Sender, TargetError,
    account::{OpenError, Opening},
    hub_handle::HubHandle,
    identity::{Identity, Spelling, Unidentified},
    kit::http::{Answer, Decode, Reader, Verdict, base::Base, token::Token},
    receiver::Hearing,
    sender::fit,
};
use crate::{
    files::kept::Kept,
    message::{attachment::Attachment, operation::Operation, target::Target},
    settings::secret::SecretSource,
};

const DEFAULT_BASE: &str = "https://api.telegram.org";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    token: SecretSource,
    #[serde(default)]
    link_previews: bool,
    #[serde(default)]
    receive: bool,
    #[serde(default = "default_base")]
    base_url: String,
}

fn default_base() -> String {
    DEFAULT_BASE.to_owned()
}

struct Telegram {
    client: Client,
    kept: Kept,
    link_previews: bool,
    /// Where the account hears what people write.
    listener: Option<Listener>,
}

/// The bot that a token is of: its id stands before the colon, and stays when the token is revoked and made anew.
fn bot_of(token: &str) -> String {
    token.split(':').next().unwrap_or(token).to_owned()
}

/// What the answers of its platform mean, each as a function of the answer alone: any answer is tried on all of them.
pub(in crate::channels) const DECODERS: &[(&str, Decode)] = &[
    ("send", |reader, answer| made(reader, answer, false)),
    ("open a topic", |reader, answer| made(reader, answer, true)),
];

fn made(reader: &Reader, answer: &Answer, topic: bool) -> Result<String, Verdict> {
    match answer::result(answer.clone()) {
        Ok(result) => answer::made(&result, topic, "1".into()),
        Err(refused) => Err(refused.verdict(reader)),
    }
}

/// Opens an account. Connects to nothing.
///
/// # Errors
/// A setting is missing or wrong, or the token cannot be read or is none.
pub fn open(opening: Opening<'_>) -> Result<Arc<dyn Adapter>, OpenError> {
    let settings: Settings = opening.settings.try_into()?;
    let base = Base::parse("base_url", &settings.base_url).map_err(OpenError::Invalid)?;
    let token = Token::read_with_identity(settings.token, bot_of)?;
    if !is_token(token.now().expose()) {
        let why = "token: this is no bot token, which @BotFather gives as 123456:ABC-DEF; nothing else may be there";
        return Err(OpenError::Invalid(why.into()));
    }
    Ok(Arc::new(Telegram {
        kept: Kept::of(&opening.store),
        client: Client::new(opening.http, base, token),
        link_previews: settings.link_previews,
        listener: settings.receive.then(|| Listener::new(opening.account, Tempo::USUAL)),
    }))
}

/// <https://core.telegram.org/bots/api#authorizing-your-bot>: a number, a colon, and letters as base64 has them for URLs.
fn is_token(text: &str) -> bool {
    text.split_once(':').is_some_and(|(bot, secret)| {
        let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        !bot.is_empty()
            && bot.bytes().all(|b| b.is_ascii_digit())
            && !secret.is_empty()
            && secret.bytes().all(letter)
    })
}

#[async_trait]
impl Adapter for Telegram {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn flavour(&self) -> crate::render::Flavour {
        profile::FORMAT.flavour
    }

    fn resolve(&self, address: &str) -> Result<String, TargetError> {
        target::canonical(address).map_err(TargetError::at(CAPABILITIES.channel, address))
    }

    /// A public name can be given to another chat, and a basic group's number is another one once it is a supergroup.
    fn identity(&self, address: &str) -> Spelling {
        match target::tells(address) {
            true => Spelling::known(address),
            false => Spelling::Ask,
        }
    }

    async fn identify(&self, address: &str) -> Result<Identity, Unidentified> {
        self.client.identify(address).await
    }

    fn is_mentionable(&self, id: &str) -> bool {
        id.parse::<i64>().is_ok_and(|number| number > 0) && target::canonical(id).as_deref() == Ok(id)
    }

    fn scope(&self, _: &str) -> IdScope {
        // A message's number is its chat's (<https://core.telegram.org/bots/api#message>), and no method tells its topic.
        IdScope::Conversation
    }

    fn joins_album(&self, files: &[Attachment], file: &Attachment) -> bool {
        media::joins_album(files, file)
    }

    async fn check_ready(&self) -> Result<String, NotReady> {
        let who = self.client.who_am_i().await.map_err(NotReady)?;
        // Messages go all the same.
        let trouble = self.listener.as_ref().and_then(Listener::trouble);
        Ok(trouble.into_iter().fold(who, |who, trouble| format!("{who}; {trouble}")))
    }
}

#[async_trait]
impl Sender for Telegram {
    type Request = Request;

    fn compose(&self, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
        fit(request::compose(outgoing, self.link_previews), Request::unfit)
    }

    fn compose_operation(&self, op: &OperationRequest<'_>) -> Option<Result<Request, Refused>> {
        if let Operation::Thread { name, message } = op.operation {
            if message.is_some() {
                let why = "a topic on Telegram begins at no message: leave messageId out, or answer the message with reply";
                return Some(Err(Refused::because(why)));
            }
            if name.chars().count() > MAX_TOPIC_NAME {
                let why = format!(
                    "the name of a topic on Telegram has {MAX_TOPIC_NAME} characters at most: shorten threadName"
                );
                return Some(Err(Refused(why)));
            }
        }
        request::compose_operation(op, self.link_previews).map(|request| fit(request, Request::unfit))
    }

    /// An edit without a keyboard takes the message's away
    /// (<https://core.telegram.org/bots/api#editmessagetext>, `reply_markup`).
    fn keeping(&self, mut edit: Request, made: &Request) -> Request {
        if let Some(keyboard @ Value::Object(_)) = made.body.get(request::KEYBOARD) {
            edit.body.insert(request::KEYBOARD.into(), keyboard.clone());
        }
        edit
    }

    async fn deliver(
        &self,
        request: &Request,
        key: &PartKey,
        hints: &mut RateHints,
    ) -> Result<Delivered, Failure> {
        self.client.deliver(request.clone(), key, &self.kept, hints).await.map(Delivered::from)
    }

    fn redelivery(&self, request: &Request) -> Redelivery {
        if request.may_be_repeated() { Redelivery::SEEN_ONCE } else { Redelivery::Never }
    }
}

/// "The status is set for 5 seconds or less" (<https://core.telegram.org/bots/api#sendchataction>).
const TYPING: Duration = Duration::from_secs(5);

#[async_trait]
impl Receiver for Telegram {
    fn hearing(&self) -> Option<Hearing> {
        self.listener.as_ref().map(Listener::hearing)
    }

    async fn listen(&self, hub: &dyn HubHandle) {
        if let Some(listener) = &self.listener {
            listener.listen(&self.client, hub).await;
        }
    }

    fn typing_lasts(&self) -> Option<Duration> {
        Some(TYPING)
    }

    async fn show_typing(&self, conversation: &Target) {
        self.client.typing(&conversation.address, conversation.thread.as_deref()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{profile::KEYS, *};
    use crate::channels::testing::sample::AsJson as _;

    #[test]
    fn a_topic_begins_at_no_message_and_its_name_is_bounded() {
        let telegram = scenarios::telegram(1, crate::settings::secret::Secret::from("1:a"));
        let refusal = |name: String, message: Option<String>| {
            let operation = Operation::Thread { name, message };
            let asked = crate::channels::testing::sample::op("-1001234567890", &operation, None);
            telegram.refusal(&telegram.composed_operation(&asked).unwrap())
        };
        assert_eq!(refusal("ä".repeat(128), None), None);
        assert!(refusal("ä".repeat(129), None).unwrap().contains("threadName"));
        assert!(refusal("June".into(), Some("5".into())).unwrap().contains("leave messageId out"));
    }

    #[test]
    fn an_edit_keeps_the_buttons_that_stand_under_the_message() {
        let telegram = scenarios::telegram(1, crate::settings::secret::Secret::from("1:a"));
        let (text, operation) =
            (crate::channels::testing::sample::part("New"), Operation::Edit { message: "5".into() });
        let asked = crate::channels::testing::sample::op("42", &operation, Some(&text));
        let edit = telegram.composed_operation(&asked).unwrap();
        let keyboard = serde_json::json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]});
        let made =
            serde_json::json!({"method": "sendMessage", "body": {"text": "Old", "reply_markup": keyboard}});
        let kept = telegram.composed_edit(&asked, &made);
        assert_eq!(kept["body"]["reply_markup"], keyboard);
        assert_ne!(kept, edit);
        // One that is read no more.
        assert_eq!(telegram.composed_edit(&asked, &serde_json::json!({"body": {}})), edit);
        let bare = serde_json::json!({"method": "sendMessage", "body": {"text": "Old"}});
        assert_eq!(telegram.composed_edit(&asked, &bare), edit);
    }

    #[test]
    fn every_setting_is_documented_and_every_documented_key_is_a_setting() {
        let all = KEYS.iter().map(|key| format!("{} = {}\n", key.name, key.value)).collect::<String>();
        let all: Settings = toml::from_str(&all).unwrap();
        let least: Settings = toml::from_str("token = \"env:T\"").unwrap();
        assert_eq!((all.link_previews, &all.base_url), (least.link_previews, &least.base_url));
        assert_eq!((all.receive, least.receive), (false, false));
        assert!(toml::from_str::<Settings>("token = \"env:T\"\npreviews = true").is_err());
    }

    #[test]
    fn a_token_is_a_number_and_a_secret() {
        assert!(is_token("123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"));
        for other in
            ["", "123456", ":abc", "123456:", "12a:abc", "123:a b", "123:a/b", "bot123:abc", "123:a\nb"]
        {
            assert!(!is_token(other), "{other:?}");
        }
    }
}
