//! signal-cli with an account: the real program without one cannot send. It plays 0.14.2, by the sources and classes of 0.13.19
//! (<https://github.com/AsamK/signal-cli/tree/v0.13.19/src/main/java/org/asamk/signal>) and its manual
//! (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>); a test may
//! make it older ([`SignalMock::version`]).
//!
//! It misbehaves as the program does: while Signal's servers are away ([`SignalMock::away`]) a message to one recipient ends
//! with `NETWORK_FAILURE` and no cause (`SendHelper.handleSendMessage`), and of a group whose members are not all on Signal
//! the answer is a result with a failure in it (`SendMessageResultUtils.outputResult`: an error only where nobody was reached).
//!
//! What people write to it comes over its [`stream`].

pub mod stream;

use std::{
    net::TcpStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use anyhow::Result;
use serde_json::{Value, json};

use self::stream::EventStream;
use super::{MockServer, Request, members, text};

/// The account that it has.
pub const ACCOUNT: &str = "+4915112345678";
/// When the first message is sent, in milliseconds; each further one is a millisecond later.
pub const BEGINS: u64 = 1_700_000_000_000;

/// The account's own id (ACI).
pub const ACI: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
/// A member of every group who is not on Signal, and what the account calls her.
pub const CAROL: (&str, &str) = ("+4915100000003", "Carol");

/// What a test may make of it.
#[derive(Debug, Default)]
pub struct SignalMock {
    /// It was started with `-a`: `SignalJsonRpcCommandHandler` has no method for all accounts then.
    pub for_one: AtomicBool,
    /// Signal's servers cannot be reached.
    pub away: AtomicBool,
    /// What it calls itself; 0.14.2 where nothing is said.
    pub version: Mutex<Option<&'static str>>,
    /// It receives from its start on, and not for listeners alone.
    pub on_start: AtomicBool,
    /// What people write.
    pub stream: EventStream,
    /// What was sent: when, as an id, and the call's parameters.
    sent: Mutex<Vec<(u64, Value)>>,
    clock: AtomicU64,
}

impl SignalMock {
    /// What somebody has, in order: the id of each message, and its words after all edits. An edit has a time of its own, by which the
    /// next may name the message
    /// (<https://github.com/signalapp/Signal-Android/blob/main/app/src/main/java/org/thoughtcrime/securesms/messages/EditMessageProcessor.kt>).
    pub fn has(&self, person: &str) -> Vec<(u64, String)> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let its = sent.iter().filter(|(_, params)| params["recipient"][0] == person);
        let mut all: Vec<(Vec<u64>, String)> = Vec::new();
        for (time, params) in its {
            let words = params["message"].as_str().unwrap_or_default().to_owned();
            match params["editTimestamp"].as_u64() {
                Some(edited) => {
                    if let Some((times, text)) = all.iter_mut().find(|(times, _)| times.contains(&edited)) {
                        times.push(*time);
                        *text = words;
                    }
                }
                None => all.push((vec![*time], words)),
            }
        }
        all.into_iter().filter_map(|(times, text)| Some((*times.first()?, text))).collect()
    }
}

/// Somebody of whom it knows more than a number: that, the account's UUID, and the user name.
pub const KNOWN: (&str, &str, &str) = ("+4915112345670", "aaaaaaaa-0000-4000-8000-00000000000b", "bob.01");

/// Starts one.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<MockServer> {
    Ok(start_with()?.0)
}

/// Starts one that a test may change.
///
/// # Errors
/// There is no port to listen on.
pub fn start_with() -> Result<(MockServer, Arc<SignalMock>)> {
    start_telling(EventStream::default())
}

/// Starts one with this stream.
///
/// # Errors
/// There is no port to listen on.
pub fn start_telling(stream: EventStream) -> Result<(MockServer, Arc<SignalMock>)> {
    let mock = Arc::new(SignalMock { clock: AtomicU64::new(BEGINS), stream, ..SignalMock::default() });
    let (state, telling) = (Arc::clone(&mock), Arc::clone(&mock));
    let answer = move |request: &Request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/api/v1/check") => (200, Value::Null),
        ("POST", "/api/v1/rpc") => (200, answer(request, &state)),
        _ => (404, Value::Null),
    };
    let take = move |request: &Request, connection: &TcpStream| {
        let is_its = (request.method.as_str(), request.path.as_str()) == ("GET", "/api/v1/events");
        if is_its {
            telling.stream.serve(request, connection)?;
        }
        Ok(is_its)
    };
    Ok((MockServer::with_streams(answer, take)?, mock))
}

fn answer(request: &Request, mock: &SignalMock) -> Value {
    let call = request.json();
    let id = &call["id"];
    let checked = members(&call, &["jsonrpc", "id", "method"], &["params"])
        .map_err(|why| Refused(-32600, why, Value::Null))
        .and_then(|()| result(&call, mock));
    match checked {
        Ok(result) => json!({"jsonrpc": "2.0", "result": result, "id": id}),
        Err(Refused(code, message, data)) => {
            json!({"jsonrpc": "2.0", "error": {"code": code, "message": message, "data": data}, "id": id})
        }
    }
}

/// An error's number, words and data.
struct Refused(i64, String, Value);

fn result(call: &Value, mock: &SignalMock) -> Result<Value, Refused> {
    let refused = |code, why: &str| Refused(code, why.to_owned(), Value::Null);
    let (method, params) = (call["method"].as_str().unwrap_or_default(), &call["params"]);
    let away = mock.away.load(Ordering::Relaxed);
    match method {
        // `ListAccountsCommand.JsonAccount`: the number and nothing else.
        "listAccounts" if mock.for_one.load(Ordering::Relaxed) => {
            return Err(refused(-32601, "Method not implemented"));
        }
        "listAccounts" => return Ok(json!([{ "number": ACCOUNT }])),
        // `VersionCommand`.
        "version" => {
            let version = mock.version.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or("0.14.2");
            return Ok(json!({ "version": version }));
        }
        _ => {}
    }
    // Without a recipient: all of its contacts. `JsonContact`, of which this is the half.
    if method == "listContacts" && params["recipient"].is_null() {
        return Ok(json!([{"number": CAROL.0, "uuid": null, "username": null, "name": CAROL.1}]));
    }
    if ["listContacts", "getUserStatus"].contains(&method) {
        return known(method, params).map_err(|why| Refused(-1, why, Value::Null));
    }
    // <https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc>: the commands, in camel case; "requests for
    // a single account require an additional `account` param".
    let local = ["listDevices", "listIdentities", "receive", "getAttachment"];
    let does = ["send", "sendReaction", "sendPollCreate", "remoteDelete", "sendTyping", "sendReceipt"];
    if !does.contains(&method) && !local.contains(&method) {
        return Err(refused(-32601, "Method not implemented"));
    }
    // `MultiAccountManagerImpl.getManager`: by the number alone.
    if params["account"] != ACCOUNT {
        return Err(refused(-32602, "Specified account does not exist"));
    }
    match method {
        // `ListDevicesCommand`: `IOErrorException`, which is -3 (`SignalJsonRpcCommandHandler.IO_ERROR`).
        "listDevices" if away => return Err(refused(-3, "Failed to get linked devices: Connection closed!")),
        "listDevices" => {
            return Ok(json!([{"id": 1, "name": null, "createdTimestamp": 0, "lastSeenTimestamp": 0}]));
        }
        // `ListIdentitiesCommand.JsonIdentity`; the account trusts its own key (`SignalAccount.trustSelfIdentity`).
        "listIdentities" => {
            return Ok(json!([{"number": ACCOUNT, "uuid": ACI, "trustLevel": "TRUSTED_VERIFIED"}]));
        }
        // `ReceiveCommand`: `AlreadyReceivingException`.
        "receive" if mock.on_start.load(Ordering::Relaxed) => {
            let why = "Receive command cannot be used if messages are already being received.";
            return Err(refused(-1, why));
        }
        "receive" => {
            members(params, &["account", "timeout", "maxMessages"], &[])
                .map_err(|why| refused(-32602, &why))?;
            return if params["maxMessages"] == 0 {
                Ok(json!([]))
            } else {
                Err(refused(-1, "it would take some"))
            };
        }
        // `GetAttachmentCommand`: one of the two says where it came from. Its own name is what is in it.
        "getAttachment" => {
            members(params, &["account", "id"], &["recipient", "groupId"])
                .map_err(|why| refused(-32602, &why))?;
            let id = params["id"].as_str().unwrap_or_default();
            let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, id);
            return Ok(json!({ "data": data }));
        }
        // `SendReceiptCommand`: one recipient, and no list of them.
        "sendReceipt" => {
            members(params, &["account", "recipient", "targetTimestamp", "type"], &[])
                .map_err(|why| refused(-32602, &why))?;
            let fits = params["recipient"].is_string() && params["targetTimestamp"][0].is_u64();
            let read = params["type"] == "read";
            return if fits && read {
                Ok(json!({"timestamp": BEGINS, "results": [{"type": "SUCCESS"}]}))
            } else {
                Err(refused(-1, "no receipt"))
            };
        }
        _ => {}
    }
    let user = |why: String| Refused(-1, why, Value::Null);
    let to = if params["groupId"].is_null() { "recipient" } else { "groupId" };
    let person = params[to].as_array().filter(|list| list.len() == 1).and_then(|list| list[0].as_str());
    let person = person.ok_or_else(|| user("No recipients given".into()))?;
    match method {
        "send" => sent(params, to),
        "sendReaction" => {
            members(params, &["account", to, "emoji", "targetAuthor", "targetTimestamp"], &["remove"])
        }
        "sendPollCreate" => asked(params, to),
        "sendTyping" => members(params, &["account", to], &[]),
        _ => members(params, &["account", to, "targetTimestamp"], &[]),
    }
    .map_err(user)?;
    if ["targetTimestamp", "editTimestamp", "quoteTimestamp"]
        .iter()
        .any(|name| !params[name].is_null() && !params[name].is_u64())
    {
        return Err(user("a timestamp is a number".into()));
    }
    let time = mock.clock.fetch_add(1, Ordering::Relaxed);
    if method == "send" {
        mock.sent.lock().unwrap_or_else(PoisonError::into_inner).push((time, params.clone()));
    }
    let one = |number: &str, kind: &str| {
        let kind = if away { "NETWORK_FAILURE" } else { kind };
        json!({ "recipientAddress": { "uuid": null, "number": number }, "type": kind })
    };
    let results = match to {
        "groupId" => vec![
            one("+4915100000001", "SUCCESS"),
            one("+4915100000002", "SUCCESS"),
            one(CAROL.0, "UNREGISTERED_FAILURE"),
        ],
        _ if person == CAROL.0 => vec![one(CAROL.0, "UNREGISTERED_FAILURE")],
        _ => vec![one(person, "SUCCESS")],
    };
    let result = json!({ "timestamp": time, "results": results });
    // `SendMessageResultUtils.outputResult`: what it wrote goes with the error.
    if results.iter().any(|result| result["type"] == "SUCCESS") {
        return Ok(result);
    }
    Err(Refused(-1, "Failed to send message".into(), json!({ "response": result })))
}

/// `ListContactsCommand` and `GetUserStatusCommand`: contacts by what they are asked for by, and registered accounts, of which the UUID
/// is told. Of strangers it knows that they are registered.
fn known(method: &str, params: &Value) -> Result<Value, String> {
    let (number, uuid, name) = KNOWN;
    let parameter = |member: &str| {
        params[member]
            .as_array()
            .and_then(|list| list.first()?.as_str())
            .map(str::to_owned)
            .unwrap_or_default()
    };
    if method == "listContacts" {
        members(params, &["account", "recipient", "allRecipients"], &[])?;
        let is_known =
            [number.to_owned(), uuid.to_owned(), format!("u:{name}")].contains(&parameter("recipient"));
        let contact = json!({"number": number, "uuid": uuid, "username": null, "name": "Bob"});
        // By a user name a contact is not found that was never written to by it.
        return Ok(if is_known && !parameter("recipient").starts_with("u:") {
            json!([contact])
        } else {
            json!([])
        });
    }
    members(params, &["account"], &["recipient", "username"])?;
    let (recipient, username) = (parameter("recipient"), parameter("username"));
    let its = (recipient == number || username == name).then_some(uuid);
    let named = if username.is_empty() { recipient.clone() } else { username.clone() };
    Ok(json!([{
        "recipient": named, "number": (!recipient.is_empty()).then_some(recipient),
        "username": (!username.is_empty()).then_some(username), "uuid": its, "isRegistered": true,
    }]))
}

/// <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendPollCreateCommand.java>; the lengths are those beyond which Signal's applications drop a poll.
fn asked(params: &Value, to: &str) -> Result<(), String> {
    members(params, &["account", to, "question", "option"], &["noMulti"])?;
    text(params, "question", 100)?;
    let options = params["option"].as_array().ok_or("option is a list")?;
    match options.len() {
        0 | 1 => return Err("Poll needs at least two options".into()),
        2..=10 => {}
        _ => return Err("Poll cannot have more than 10 options".into()),
    }
    for option in options {
        text(&json!({ "option": option }), "option", 100)?;
    }
    Ok(())
}

/// <https://github.com/AsamK/signal-cli/blob/master/src/main/java/org/asamk/signal/commands/SendCommand.java>: a message, a file
/// or both; `start:length:STYLE` in UTF-16 units; a file as a data URI (RFC 2397); a quote's time with its author.
fn sent(params: &Value, to: &str) -> Result<(), String> {
    let may = [
        "message",
        "textStyle",
        "mention",
        "attachment",
        "voiceNote",
        "quoteTimestamp",
        "quoteAuthor",
        "quoteMessage",
        "editTimestamp",
    ];
    members(params, &["account", to], &may)?;
    let message = params["message"].as_str().unwrap_or_default();
    let attachments = params["attachment"].as_array().cloned().unwrap_or_default();
    if message.is_empty() && attachments.is_empty() {
        return Err(
            "Sending empty message is not allowed, either a message, attachment or sticker must be given."
                .into(),
        );
    }
    let units = message.encode_utf16().count();
    for style in params["textStyle"].as_array().cloned().unwrap_or_default() {
        let style = style.as_str().unwrap_or_default();
        let parts: Vec<&str> = style.splitn(3, ':').collect();
        let range = || Some((parts.first()?.parse::<usize>().ok()?, parts.get(1)?.parse::<usize>().ok()?));
        let Some((start, length)) = range() else {
            return Err(format!("Invalid textStyle syntax ({style}) expected 'start:length:STYLE'"));
        };
        if !["BOLD", "ITALIC", "SPOILER", "STRIKETHROUGH", "MONOSPACE"].contains(&parts[2]) {
            return Err(format!("Invalid style: {}", parts[2]));
        }
        if length == 0 || start + length > units {
            return Err(format!("{style} is beyond the text's {units} units"));
        }
    }
    let mut before = 0;
    for mention in params["mention"].as_array().cloned().unwrap_or_default() {
        // `MENTION_PATTERN`: `(\\d+):(\\d+):(.+)`, of a person's number or UUID; applications drop one that overlaps another.
        let mention = mention.as_str().unwrap_or_default();
        let parts: Vec<&str> = mention.splitn(3, ':').collect();
        let number = |at: usize| parts.get(at).and_then(|part| part.parse::<usize>().ok());
        let (Some(start), Some(length), Some(who)) = (number(0), number(1), parts.get(2)) else {
            return Err(format!(
                "Invalid mention syntax ({mention}) expected 'start:length:recipientNumber'"
            ));
        };
        if !who.starts_with('+') && who.len() != 36 {
            return Err(format!("Invalid phone number: {who}"));
        }
        if length == 0 || start < before || start + length > units {
            return Err(format!("{mention} is beyond the text's {units} units, or in another"));
        }
        before = start + length;
    }
    for attachment in attachments {
        let uri = attachment.as_str().unwrap_or_default();
        let (head, data) = uri.split_once(";base64,").ok_or("no data URI with base64")?;
        if !head.starts_with("data:") || head.contains([' ', ',']) {
            return Err(format!("{head} is no head of a data URI"));
        }
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data)
            .map_err(|why| format!("Failed to send message: {why} (AttachmentInvalidException)"))?;
    }
    if params["quoteTimestamp"].is_null() != params["quoteAuthor"].is_null() {
        return Err("a quote has a time and an author".into());
    }
    Ok(())
}
