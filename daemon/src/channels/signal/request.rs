//! What a message becomes: a method of signal-cli's JSON-RPC interface and its parameters.
//!
//! Methods are commands, parameters their options in camel case
//! (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc>,
//! <https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>). A file stands in its data URI as a reference
//! until the request leaves. What can never be done is [`Refused`].

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::target::{MessageId, parameters, person};
use crate::{
    channels::{OperationRequest, OutgoingPart, Quoted, Refused},
    message::{
        attachment::Attachment,
        operation::{Operation, Poll},
    },
    render::{Mention, Part},
};

/// A message whose id cannot be read.
const NO_MESSAGE: &str = "there is no such message: write its time in milliseconds, or author/time for one that somebody else wrote";

/// Somebody else's message cannot be changed.
pub(super) const NOT_OWN: &str = "only messages of the account itself can be changed or removed";

/// The longest text that is quoted, in characters: applications show the first lines of it.
const MAX_QUOTED: usize = 1_000;

/// A new poll. What is older than 0.13.23 may not have it, and says so.
pub(super) const POLL: &str = "sendPollCreate";

/// A method and its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The method.
    pub(super) method: String,
    /// Its parameters, by name.
    pub(super) params: Value,
    /// Who wrote the message that is changed, if it is asked before it goes whether that is the account itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) own: Option<String>,
}

impl Request {
    fn new(method: &str, params: Value) -> Self {
        Self { method: method.to_owned(), params, own: None }
    }

    /// Whether a message comes to be by it: not if it edits, removes or reacts to one.
    pub(super) fn is_new(&self) -> bool {
        self.method == POLL || self.method == "send" && self.params["editTimestamp"].is_null()
    }
}

/// A new message.
pub(super) fn compose(account: &str, outgoing: &OutgoingPart<'_>) -> Result<Request, Refused> {
    let mut params = text(account, outgoing.address, outgoing.part);
    if let Some(file) = outgoing.files.first() {
        params["attachment"] = json!([data_uri(file)]);
        if file.voice {
            params["voiceNote"] = json!(true);
        }
    }
    if let Some(id) = outgoing.reply_to
        && !quote(&mut params, account, id, outgoing.quoted)
    {
        return Err(Refused::because(NO_MESSAGE));
    }
    Ok(Request::new("send", params))
}

/// Quotes a message, if that is the id of one.
fn quote(params: &mut Value, account: &str, id: &str, known: Option<Quoted<'_>>) -> bool {
    let Some(message) = MessageId::read(id) else { return false };
    params["quoteTimestamp"] = json!(message.time);
    let author = message.author.or_else(|| known.and_then(|known| known.author).and_then(person));
    params["quoteAuthor"] = json!(author.as_deref().unwrap_or(account));
    // A quote without its words is shown empty to who does not have the message any more.
    if let Some(known) = known.filter(|known| !known.text.is_empty()) {
        params["quoteMessage"] = json!(known.text.chars().take(MAX_QUOTED).collect::<String>());
    }
    true
}

/// An edit with what the message quoted that it edits, and was made by this request.
pub(super) fn keeping(mut request: Request, made: &Request) -> Request {
    if request.params["editTimestamp"].is_u64() {
        for name in ["quoteTimestamp", "quoteAuthor", "quoteMessage"] {
            if !made.params[name].is_null() {
                request.params[name] = made.params[name].clone();
            }
        }
    }
    request
}

/// Makes it the request for the newest revision of the message that it names.
pub(super) fn revise(request: &mut Request, newest: &str) {
    if let Some(MessageId { author: None, time }) = MessageId::read(newest) {
        for name in ["editTimestamp", "targetTimestamp"] {
            if request.params[name].is_u64() {
                request.params[name] = json!(time);
            }
        }
    }
}

/// Anything else. `is_self` says whether somebody is the account itself, as far as that is known.
pub(super) fn compose_operation(
    account: &str,
    op: &OperationRequest<'_>,
    is_self: impl Fn(&str) -> Option<bool>,
) -> Option<Result<Request, Refused>> {
    if let Operation::Poll(poll) = op.operation {
        return Some(ask(account, op, poll));
    }
    let (Operation::React { message, .. } | Operation::Edit { message } | Operation::Delete { message }) =
        op.operation
    else {
        return None;
    };
    let Some(id) = MessageId::read(message) else { return Some(Err(Refused::because(NO_MESSAGE))) };
    let mut params = parameters(account, op.address);
    let own = id.author.as_deref().map_or(Some(true), is_self);
    let mut made = match op.operation {
        Operation::React { emoji, remove, .. } => {
            params["emoji"] = json!(emoji);
            params["remove"] = json!(remove);
            params["targetAuthor"] = json!(id.author.as_deref().unwrap_or(account));
            params["targetTimestamp"] = json!(id.time);
            Request::new("sendReaction", params)
        }
        _ if own == Some(false) => return Some(Err(Refused::because(NOT_OWN))),
        Operation::Edit { .. } => {
            params = text(account, op.address, op.part?);
            params["editTimestamp"] = json!(id.time);
            // It takes the place of all of the message: without its quote it would lose that.
            if op.reply_to.is_some_and(|quoted| !quote(&mut params, account, quoted, None)) {
                return Some(Err(Refused::because(NO_MESSAGE)));
            }
            Request::new("send", params)
        }
        _ => {
            params["targetTimestamp"] = json!(id.time);
            Request::new("remoteDelete", params)
        }
    };
    // It is asked before it goes whether that is the account's own id.
    if own.is_none() && !matches!(op.operation, Operation::React { .. }) {
        made.own = id.author;
    }
    Some(Ok(made))
}

/// <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendPollCreateCommand.java>
fn ask(account: &str, op: &OperationRequest<'_>, poll: &Poll) -> Result<Request, Refused> {
    if op.reply_to.is_some() {
        return Err(Refused::because(
            "a poll on Signal quotes nothing: leave replyTo out, or write a text before the poll, which quotes",
        ));
    }
    let mut params = parameters(account, op.address);
    params["question"] = json!(poll.question);
    params["option"] = json!(poll.options);
    params["noMulti"] = json!(!poll.multiple);
    Ok(Request::new(POLL, params))
}

fn text(account: &str, address: &str, part: &Part) -> Value {
    let mut params = parameters(account, address);
    params["message"] = json!(part.text);
    if !part.styles.is_empty() {
        let styles =
            part.styles.iter().map(|style| format!("{}:{}:{}", style.start, style.len, style.kind.name()));
        params["textStyle"] = json!(styles.collect::<Vec<_>>());
    }
    let mentions: Vec<String> = part.called.iter().filter_map(mention).collect();
    if !mentions.is_empty() {
        params["mention"] = json!(mentions);
    }
    params
}

/// `START:LENGTH:RECIPIENT`, in UTF-16 units of the text, of which applications show the person's name in the place of these
/// (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>, `--mention`).
fn mention(called: &Mention) -> Option<String> {
    Some(format!("{}:{}:{}", called.start, called.len, person(&called.id)?))
}

/// All but what stands for itself in a file's name.
const BESIDE_NAMES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// RFC 2397, with the file's name as signal-cli reads it: decoded as a form's value is.
fn data_uri(file: &Attachment) -> String {
    let name = utf8_percent_encode(&file.name, BESIDE_NAMES);
    format!("data:{};filename={name};base64,{}", file.kind, file.reference())
}
