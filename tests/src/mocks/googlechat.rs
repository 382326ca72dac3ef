//! Google Chat for an app: who grants a service account its access tokens
//! (<https://developers.google.com/identity/protocols/oauth2/service-account#httprest>), and the messages of one space
//! (<https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages>). Which members a message may have
//! Google's own library judges, in the tests that read every body with it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{MockServer, Request, members};

/// The space that the app is in.
pub const SPACE: &str = "spaces/AAAA";
/// A service account, and the file with its key: one that was made for tests.
pub const ISSUER: &str = "gatepost@hub-test.iam.gserviceaccount.com";
/// That file.
pub const KEY: &str = include_str!("../../../daemon/src/channels/googlechat/testdata/service-account.json");
/// The access token that it grants.
pub const TOKEN: &str = "ya29.granted";

/// The parameter that says who is notified.
const NOTIFICATION: &str = "createMessageNotificationOptions.notificationType";
/// When every message here was made.
const CREATED: &str = "2026-11-23T10:00:00.123456Z";

/// "Maximum message size, including text and cards: 32,000 bytes"
/// (<https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create>).
const MAX_MESSAGE: usize = 32_000;
/// What a `messageId` is: "`client-`" in front, "up to 63 characters … lowercase letters, numbers, and hyphens"
/// (<https://developers.google.com/workspace/chat/create-messages#name_a_created_message>).
const MAX_ID: usize = 63;

/// What was made: each message by its name, and the name by the request that made it.
#[derive(Default)]
struct Space {
    messages: BTreeMap<String, Value>,
    /// Their names, in the order in which they were made.
    order: Vec<String>,
    requests: BTreeMap<String, String>,
}

type Said = Result<Value, (u16, &'static str, String)>;

/// Starts one that grants tokens to the account `issuer`.
///
/// # Errors
/// There is no port to listen on.
pub fn start(issuer: &str) -> Result<MockServer> {
    start_with(issuer).map(|(server, _)| server)
}

/// The space, as the people in it see it.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Space>>);

impl Seen {
    /// The texts that are there, with their messages' names, in the order in which they were made.
    pub fn texts(&self) -> Vec<(String, String)> {
        let space = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = |name: &String| Some(space.messages.get(name)?["text"].as_str()?.to_owned());
        space.order.iter().filter_map(|name| Some((name.clone(), text(name)?))).collect()
    }
}

/// Starts one, with its space.
///
/// # Errors
/// There is no port to listen on.
pub fn start_with(issuer: &str) -> Result<(MockServer, Seen)> {
    let (seen, issuer) = (Seen::default(), issuer.to_owned());
    let space = Arc::clone(&seen.0);
    let server = MockServer::open(move |request| {
        if request.path == "/token" {
            return match granted(request, &issuer) {
                Ok(()) => (200, json!({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"})),
                // RFC 6749 §5.2.
                Err(why) => (400, json!({"error": "invalid_grant", "error_description": why})),
            };
        }
        let answer = match request.header("authorization") == format!("Bearer {TOKEN}") {
            true => space.lock().unwrap_or_else(PoisonError::into_inner).answer(request),
            false => Err((401, "UNAUTHENTICATED", "Request had invalid authentication credentials.".into())),
        };
        match answer {
            Ok(body) => (200, body),
            // <https://cloud.google.com/apis/design/errors#http_mapping>
            Err((code, status, message)) => {
                (code, json!({"error": {"code": code, "message": message, "status": status}}))
            }
        }
    })?;
    Ok((server, seen))
}

/// A form with a statement that the account has made, for the scope of Chat apps, for an hour at most. Whether it is signed
/// is tested where it is made.
fn granted(request: &Request, issuer: &str) -> Result<(), String> {
    let form = String::from_utf8_lossy(&request.body).into_owned();
    let field = |name: &str| form.split('&').find_map(|field| field.strip_prefix(&format!("{name}=")));
    if request.header("content-type") != "application/x-www-form-urlencoded"
        || field("grant_type") != Some("urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
    {
        return Err("this is no request for a token".into());
    }
    let statement: Vec<&str> = field("assertion").unwrap_or_default().split('.').collect();
    let [header, claims, signature] = statement.as_slice() else { return Err("no JWT".into()) };
    let read = |part: &str| -> Value {
        URL_SAFE_NO_PAD
            .decode(part)
            .ok()
            .and_then(|part| serde_json::from_slice(&part).ok())
            .unwrap_or_default()
    };
    let (header, claims) = (read(header), read(claims));
    members(&header, &["alg", "typ", "kid"], &[])?;
    members(&claims, &["iss", "scope", "aud", "iat", "exp"], &[])?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (made, ends) = (claims["iat"].as_u64().unwrap_or(0), claims["exp"].as_u64().unwrap_or(0));
    if header["alg"] != "RS256" || signature.is_empty() {
        return Err("Invalid JWT Signature.".into());
    }
    if claims["iss"] != issuer || claims["aud"] != "https://oauth2.googleapis.com/token" {
        return Err("Invalid issuer or audience".into());
    }
    // <https://developers.google.com/workspace/chat/authenticate-authorize-chat-app>,
    // and <https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions/pull#authorization-scopes>.
    let scopes = ["https://www.googleapis.com/auth/chat.bot", "https://www.googleapis.com/auth/pubsub"];
    if !scopes.iter().any(|scope| claims["scope"] == *scope) {
        return Err("Invalid scope".into());
    }
    // "a maximum of 1 hour after the issued time".
    if made.abs_diff(now) > 60 || ends <= made || ends - made > 3600 {
        return Err("Token must be a short-lived token and in a reasonable timeframe".into());
    }
    Ok(())
}

fn invalid(why: impl Into<String>) -> (u16, &'static str, String) {
    (400, "INVALID_ARGUMENT", why.into())
}

impl Space {
    fn answer(&mut self, request: &Request) -> Said {
        let query: BTreeMap<&str, &str> =
            request.query.split('&').filter_map(|field| field.split_once('=')).collect();
        let path = request.path.trim_start_matches("/v1/");
        let name = path.strip_prefix(&format!("{SPACE}/messages/")).map(|_| path.to_owned());
        match (request.method.as_str(), name) {
            ("GET", None) if path == "spaces" => Ok(json!({"spaces": [{"name": SPACE}]})),
            ("POST", None) if path == format!("{SPACE}/messages") => self.create(&query, request.json()),
            (method, Some(name)) => {
                let there = self.messages.get_mut(&name);
                let there = there.ok_or((404, "NOT_FOUND", "Message not found.".to_owned()))?;
                match method {
                    "GET" => Ok(there.clone()),
                    "PATCH" => {
                        let body = request.json();
                        // "Required. The field paths to update."
                        let mask: Vec<&str> =
                            query.get("updateMask").copied().unwrap_or("").split(',').collect();
                        members(&body, &mask, &[]).map_err(invalid)?;
                        bounded(&body)?;
                        for field in mask {
                            there[field] = body[field].clone();
                        }
                        Ok(there.clone())
                    }
                    "DELETE" => {
                        self.messages.remove(&name);
                        Ok(json!({}))
                    }
                    _ => Err(invalid("no such method")),
                }
            }
            _ => Err((403, "PERMISSION_DENIED", "This Chat app is not a member of the space.".into())),
        }
    }

    fn create(&mut self, query: &BTreeMap<&str, &str>, body: Value) -> Said {
        if let Some(unknown) = query
            .keys()
            .find(|name| !["requestId", "messageId", "messageReplyOption", NOTIFICATION].contains(name))
        {
            return Err(invalid(format!("there is no parameter {unknown}")));
        }
        // `spaces.messages/create#NotificationType`.
        if query.get(NOTIFICATION).is_some_and(|kind| *kind != "NOTIFICATION_TYPE_SILENT") {
            return Err(invalid("no such notification"));
        }
        bounded(&body)?;
        self.quoted(&body["quotedMessageMetadata"])?;
        let id = query.get("messageId").copied().unwrap_or_default();
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !id.starts_with("client-") || id.len() > MAX_ID || !id.chars().all(letters) {
            return Err(invalid(format!("{id} is no messageId")));
        }
        let request = query.get("requestId").copied().unwrap_or_default();
        // "Specifying an existing request ID returns the message created with that ID instead of creating a new message."
        if let Some(made) = self.requests.get(request) {
            return Ok(self.messages.get(made).cloned().unwrap_or_default());
        }
        let name = format!("{SPACE}/messages/{id}");
        if self.messages.contains_key(&name) {
            return Err((409, "ALREADY_EXISTS", format!("Message {id} already exists.")));
        }
        let thread_asked = &body["thread"];
        // "Ignored by default", so that an answer would begin a thread of its own.
        if !thread_asked.is_null() && !query.contains_key("messageReplyOption") {
            return Err(invalid("a thread without messageReplyOption would be ignored"));
        }
        let thread = match (thread_asked["name"].as_str(), thread_asked["threadKey"].as_str()) {
            (Some(thread), _) if self.messages.values().any(|one| one["thread"]["name"] == thread) => {
                thread.to_owned()
            }
            (Some(_), _) => return Err((404, "NOT_FOUND", "Thread not found.".into())),
            (None, Some(key)) => format!("{SPACE}/threads/{key}"),
            (None, None) => format!("{SPACE}/threads/{id}"),
        };
        let mut made = body;
        (made["name"], made["thread"]) = (json!(name), json!({"name": thread}));
        made["createTime"] = json!(CREATED);
        self.requests.insert(request.to_owned(), name.clone());
        self.order.push(name.clone());
        self.messages.insert(name, made.clone());
        Ok(made)
    }
}

impl Space {
    /// `spaces.messages#QuotedMessageMetadata`: "If … doesn't match the latest version of the quoted message, the request fails".
    fn quoted(&self, quoted: &Value) -> Result<(), (u16, &'static str, String)> {
        if quoted.is_null() {
            return Ok(());
        }
        members(quoted, &["name", "lastUpdateTime", "quoteType"], &[]).map_err(invalid)?;
        let there = self.messages.get(quoted["name"].as_str().unwrap_or_default());
        match there {
            Some(_) if quoted["lastUpdateTime"] == CREATED && quoted["quoteType"] == "REPLY" => Ok(()),
            _ => Err(invalid("the quoted message is not there, or is another by now")),
        }
    }
}

fn bounded(body: &Value) -> Result<(), (u16, &'static str, String)> {
    members(body, &[], &["text", "cardsV2", "fallbackText", "thread", "quotedMessageMetadata"])
        .map_err(invalid)?;
    let shows = ["text", "cardsV2"].iter().any(|name| !body[*name].is_null());
    if !shows || body.to_string().len() > MAX_MESSAGE {
        return Err(invalid("Message cannot be empty, nor longer than 32,000 bytes."));
    }
    Ok(())
}
