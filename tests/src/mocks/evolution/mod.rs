//! The Evolution API, version 2.3.6, as its source has it (<https://github.com/EvolutionAPI/evolution-api>): beside
//! each rule stands the file that it is from, as `FILE@COMMIT:LINE`. 2.3.6 has no commit of its own that could be read;
//! these were:
//!
//! - `src/api/controllers/sendMessage.controller.ts`@02d640f86c1df70410dcbcadcac0752ed311a4a5
//! - `src/api/controllers/instance.controller.ts`@03c32de7437dd69d0a29e2740bde3b3fd4ee30a5
//! - `src/api/routes/sendMessage.router.ts`@1787238c6387e23af6175db5c9f13456d6f3e59e
//! - `src/api/routes/instance.router.ts`@047044d7a145e672c71a6e3dda1bd5e6cfc5acfa
//! - `src/api/routes/chat.router.ts` and `src/api/guards/auth.guard.ts`@272bed13517789d2dac3ac737b2bcc54e61de25c (both
//!   of before 2.0)
//! - `src/api/abstract/abstract.router.ts`@32e58debc6438620a07afbe1491e3e345865ec83
//! - `src/exceptions/`: `400.exception.ts`@127d5b97c405c67c5f66deb32c902e2c529ff859,
//!   `401.exception.ts`@94f5c130bf5f8631ec4e1a79a14dcd42f99045e5,
//!   `500.exception.ts`@408fe8f0210f0da60117f4d0ed683534337703a1
//! - `src/main.ts`@05ee65f42274a43f0cc2f630828f6253144a9516
//! - `src/validate/chat.schema.ts`@1ad51a434b003989269f302a3a9253ecd57760fc
//! - `src/api/services/channel.service.ts`@001f4d3ca5f841defcfb893541fecc2e5954adfa
//! - `src/api/integrations/channel/whatsapp/whatsapp.baileys.service.ts`, "the service",
//!   @00e191fff9514a2fa9d37d523a83ed2a9bf45e01 (later than 2.3.6) and @f695e8bdc9f57ff932f7ec1e3546cf09b0a59d95
//!   (earlier): some 5,000 lines, of which the store gives parts without their numbers; there the function is named
//!   instead of the line.
//!
//! Where the server goes wrong, so does this.
//!
//! [`schema`] is what it checks of a body, [`form`] how it reads files, [`number`] how it spells numbers.

mod form;
mod number;
mod schema;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use gatepost::store::now_ms;
use serde_json::{Value, json};

use self::{form::File, number::jid};
use super::{Answer, MockServer, Request, members, text};
use crate::hub::secret;

/// The version that it plays.
pub const VERSION: &str = "2.3.6";
/// The key that it takes.
pub const KEY: &str = "evolution-api-key";

/// The longest base64 in JSON that its check gets through, in characters: `isBase64` of class-validator matches a
/// regular expression, which overflows the stack beyond (`sendMessage.controller.ts@02d640f:55`, 62 and 113; where it
/// overflows is not in the sources that could be read).
const MAX_INLINED: usize = 3_200_000;

/// What was sent and kept.
#[derive(Default)]
struct Kept {
    /// The latest first.
    messages: Vec<Value>,
    /// How many there ever were.
    made: usize,
}

/// What an account here says of it; its key is in a file of this folder.
///
/// # Errors
/// The file system's.
pub fn account(server: &MockServer, folder: &Path) -> Result<String> {
    let (key, url) = (secret(folder, "key", KEY)?, server.url());
    Ok(format!("evolution_url = \"{url}\"\ninstance = \"home\"\napi_key = {key}\n"))
}

/// Starts one, with an instance `home` whose phone is connected.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<MockServer> {
    start_with().map(|(server, _)| server)
}

/// A phone that gets messages.
#[derive(Clone, Default)]
pub struct Phone(Arc<Mutex<Kept>>);

impl Phone {
    /// It gets a message of somebody's, which the server keeps as `prepareMessage` of the service makes it. What it has got
    /// under this id it knows.
    pub fn gets(&self, id: &str, from: &str, message: &Value) {
        let key = json!({"id": id, "remoteJid": from, "fromMe": false});
        let kind = message.as_object().and_then(|members| members.keys().next().cloned());
        let record = json!({
            "key": key, "pushName": "Ann", "message": message, "messageType": kind, "contextInfo": null,
            "messageTimestamp": now_ms() / 1_000, "source": "android", "MessageUpdate": [],
        });
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.messages.iter().any(|one| one["key"] == record["key"]) {
            kept.messages.insert(0, record);
        }
    }

    /// The texts that it sent to somebody, with their ids, the oldest first.
    pub fn sent(&self, to: &str) -> Vec<(String, String)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = kept
            .messages
            .iter()
            .rev()
            .filter(|one| one["key"]["fromMe"] == true && one["key"]["remoteJid"] == to);
        let word = |value: &Value| value.as_str().map(str::to_owned);
        ours.filter_map(|one| Some((word(&one["key"]["id"])?, word(&one["message"]["conversation"])?)))
            .collect()
    }
}

/// Starts one, with its phone.
///
/// # Errors
/// There is no port to listen on.
pub fn start_with() -> Result<(MockServer, Phone)> {
    let phone = Phone::default();
    let kept = phone.0.clone();
    let server = MockServer::open(move |request| {
        // `auth.guard.ts@272bed1:11-48`, `401.exception.ts@94f5c13:3-11`: the message is no list.
        if request.header("apikey") != KEY {
            return refused(401, &json!("Unauthorized"));
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let path: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            // `instance.router.ts@047044d:47-56`, `instance.controller.ts@03c32de:342-349`.
            ("GET", ["instance", "connectionState", "home"]) => {
                (200, json!({"instance": {"instanceName": "home", "state": "open"}}))
            }
            ("POST", ["message", what, "home"]) => send(what, request, &mut kept),
            // `chat.router.ts@272bed1:205-221`, 52 to 68 (both 200) and 120 to 136 (201).
            ("POST", ["chat", "findMessages", "home"]) => found(&request.json(), &kept),
            ("POST", ["chat", "whatsappNumbers", "home"]) => numbers(&request.json()),
            ("DELETE", ["chat", "deleteMessageForEveryone", "home"]) => removed(&request.json(), &mut kept),
            // `fetchInstances` of `instance.controller.ts@03c32de`.
            ("GET", ["instance", "fetchInstances"]) => (
                200,
                json!([{"name": "home", "connectionStatus": "open", "ownerJid": "4915112345678@s.whatsapp.net"}]),
            ),
            // `presenceSchema` and `readMessageSchema` (`chat.schema.ts@1ad51a4`), each 201 (`chat.router.ts@272bed1`).
            ("POST", ["chat", "sendPresence", "home"]) => {
                match members(&request.json(), &["number", "presence", "delay"], &[]) {
                    Ok(()) => (201, json!({"presence": "composing"})),
                    Err(why) => invalid(why),
                }
            }
            ("POST", ["chat", "markMessageAsRead", "home"]) => {
                match members(&request.json()["readMessages"][0], &["id", "fromMe", "remoteJid"], &[]) {
                    Ok(()) => (201, json!({"message": "Read messages", "read": "success"})),
                    Err(why) => invalid(why),
                }
            }
            // `main.ts@05ee65f:122-134`.
            (method, _) => {
                let why = format!("Cannot {method} {}", request.path);
                refused(404, &json!([why]))
            }
        }
    })?;
    Ok((server, phone))
}

/// `sendMessageWithTyping` has no list of the group's members: `NotFoundException`, which is no `Error`, comes out of
/// `BadRequestException(error.toString())` like this (`sendMessageWithTyping` of the service at 00e191f).
pub fn group_not_found() -> Answer {
    thrown("[object Object]")
}

/// What Baileys threw within `sendMessageWithTyping` (the service at 00e191f, its `catch`), by its words.
pub fn thrown(words: &str) -> Answer {
    Answer::Says(400, error(400, &json!([words])))
}

/// What was thrown within `sendMessageWithTyping` behind `sendMessage`, when the message had left: axios asks somebody
/// to turn a recording into text (`openaiService.speechToText` in `sendMessageWithTyping` of the service at 00e191f).
pub fn thrown_after_sending(words: &str) -> Answer {
    Answer::Done(400, error(400, &json!([words])))
}

/// What `prepareMediaMessage` threw (the service at 00e191f, its `catch`):
/// `InternalServerErrorException(error.toString())`, `500.exception.ts@408fe8f:3-11`.
pub fn not_prepared(words: &str) -> Answer {
    Answer::Says(500, error(500, &json!([words])))
}

/// As `main.ts@05ee65f:111-117` words an error: what an exception of its own says is a list of what it was given
/// (`400.exception.ts@127d5b9:3-12`), of any other its message.
fn error(status: u16, message: &Value) -> Value {
    let name = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        _ => "Internal Server Error",
    };
    json!({"status": status, "error": name, "response": {"message": message}})
}

fn refused(status: u16, message: &Value) -> (u16, Value) {
    (status, error(status, message))
}

/// What `dataValidate` (`abstract.router.ts@32e58de:29-63`) throws: a list, which the exception puts into a list of its
/// own.
fn invalid(why: String) -> (u16, Value) {
    refused(400, &json!([[why]]))
}

/// `sendMessage.router.ts@1787238` (`sendText` 52-61, `sendMedia` 62-73, `sendWhatsAppAudio` 74-85, and so on: each
/// answers 201), and what the controller and the service make of it.
fn send(what: &str, request: &Request, kept: &mut Kept) -> (u16, Value) {
    let (body, file) = match form::read(request) {
        Ok(read) => read,
        Err(why) => return refused(400, &json!([why])),
    };
    if let Err(why) = schema::message(what, &body) {
        return invalid(why);
    }
    let said = match what {
        "sendText" => json!({"conversation": body["text"]}),
        "sendMedia" | "sendWhatsAppAudio" => match with_file(what, &body, file) {
            Ok(said) => said,
            Err(answer) => return answer,
        },
        // `sendReaction` (`sendMessage.controller.ts@02d640f:180-183`): an empty one, which would take it back, is
        // none.
        "sendReaction" => {
            if body["reaction"].as_str().is_none_or(|emoji| emoji.chars().all(is_no_emoji)) {
                return refused(400, &json!(["\"reaction\" must be an emoji"]));
            }
            json!({"reactionMessage": {"text": body["reaction"], "key": body["key"]}})
        }
        _ => json!({"pollCreationMessageV3": {"name": body["name"]}}),
    };
    let to = body["number"].as_str().or(body["key"]["remoteJid"].as_str()).unwrap_or_default();
    let key = json!({"id": format!("3EB0{:016X}", kept.made), "fromMe": true, "remoteJid": jid(to)});
    // `audioWhatsapp` of the service at f695e8b hands on the delay and nothing else, as 2.3.7 still does
    // (<https://github.com/EvolutionAPI/evolution-api/issues/2485>); at 00e191f, later, what is quoted too.
    let quoted = if what == "sendWhatsAppAudio" { &Value::Null } else { &body["quoted"] };
    // `sendMessageWithTyping` of the service at 00e191f, `prepareMessage`, of which no more is played than is asked
    // for.
    let message = json!({"key": key, "message": said, "contextInfo": {"quoted": quoted}, "messageTimestamp": now_ms() / 1_000});
    kept.made += 1;
    kept.messages.insert(0, message.clone());
    let mut answer = message;
    answer["status"] = json!("PENDING");
    (201, answer)
}

/// `/[^()\w\sà-ú"-+]+/` (`sendMessage.controller.ts@02d640f:180`) finds nothing but others than these.
fn is_no_emoji(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || c == '_'
        || c.is_whitespace()
        || ('à'..='ú').contains(&c)
        || ('"'..='+').contains(&c)
}

/// What `sendMedia` (`sendMessage.controller.ts@02d640f:51-73`), `sendWhatsAppAudio` (109-126) and
/// `prepareMediaMessage` of the service at 00e191f make of a file. An address, which the server would fetch, is refused
/// here: nobody is to hand one on.
fn with_file(what: &str, body: &Value, file: Option<File>) -> Result<Value, (u16, Value)> {
    let place = if what == "sendMedia" { "media" } else { "audio" };
    let inlined = body[place].is_string();
    let bytes = match (file, body[place].as_str()) {
        (Some(file), _) => file.bytes,
        (None, Some(text)) if text.len() > MAX_INLINED => {
            return Err(refused(500, &json!("Maximum call stack size exceeded")));
        }
        (None, text) => {
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text.unwrap_or("?")).map_err(
                |_| {
                    let why = match what {
                        "sendMedia" => "Owned media must be a url or base64",
                        _ => "Owned media must be a url, base64, or valid file with buffer",
                    };
                    refused(400, &json!([why]))
                },
            )?
        }
    };
    // `sendMessage.controller.ts@02d640f:55-60`.
    let named = body["fileName"].as_str().is_some_and(|name| !name.is_empty());
    if what == "sendMedia" && inlined && body["mediatype"] == "document" && !named {
        return Err(refused(400, &json!(["For base64 the file name must be informed."])));
    }
    if what == "sendWhatsAppAudio" {
        return Ok(json!({"audioMessage": {"ptt": true, "fileLength": bytes.len()}}));
    }
    let kind = body["mediatype"].as_str().unwrap_or_default();
    // `prepareMediaMessage` of the service at 00e191f names a picture and a film that have no name. It looks for a document's
    // in its address, and base64 is none: `arrayMatch[1]` of nothing throws.
    let name = match (named, kind) {
        (true, _) => body["fileName"].as_str(),
        (false, "image") => Some("image.jpg"),
        (false, "video") => Some("video.mp4"),
        (false, "document") => {
            return Err(refused(500, &json!(["TypeError: Cannot read properties of null (reading '1')"])));
        }
        (false, _) => None,
    };
    // The type is its name's, whatever is given beside it: `mimeTypes.lookup(mediaMessage.fileName).toString()`, of an ending
    // that nobody knows `"false"`. The one that is given counts where there is no name; where neither is, it is `false` itself.
    let given =
        || body["mimetype"].as_str().filter(|kind| !kind.is_empty()).map_or(json!(false), Value::from);
    let mimetype = name.map_or_else(given, |name| json!(form::type_of(name).unwrap_or("false")));
    let media = json!({"mimetype": mimetype, "fileName": name, "caption": body["caption"],
        "fileLength": bytes.len(), "sha256": gatepost_link::Digest::of(&bytes).to_string()});
    Ok(json!({format!("{kind}Message"): media}))
}

/// `messageValidateSchema` (`chat.schema.ts@1ad51a4:205-242`; `where` may be missing there, and it does not name `page`
/// and `offset`), and `fetchMessages` of the service at 00e191f (before, of `channel.service.ts` at 001f4d3): the
/// latest first, `offset` of them on a page, 50 if it is not named. A key's member filters only if JavaScript takes it for true
/// (`keyFilters?.fromMe ? … : {}`), so `fromMe: false` and an empty text do not.
fn found(body: &Value, kept: &Kept) -> (u16, Value) {
    if let Err(why) = members(body, &["where"], &["page", "offset"]) {
        return invalid(why);
    }
    let wanted = &body["where"]["key"];
    let fits = |one: &&Value| {
        ["id", "fromMe", "remoteJid"].iter().all(|name| {
            matches!(&wanted[name], Value::Null | Value::Bool(false))
                || wanted[name] == ""
                || one["key"][name] == wanted[name]
        })
    };
    let all: Vec<&Value> = kept.messages.iter().filter(fits).collect();
    let number = |name: &str, otherwise: usize| {
        body[name]
            .as_u64()
            .and_then(|value| usize::try_from(value).ok())
            .filter(|value| *value > 0)
            .unwrap_or(otherwise)
    };
    let (page, length) = (number("page", 1), number("offset", 50));
    let records: Vec<&&Value> = all.iter().skip((page - 1) * length).take(length).collect();
    (
        200,
        json!({"messages": {"total": all.len(), "pages": all.len().div_ceil(length), "currentPage": page, "records": records}}),
    )
}

/// `whatsappNumberSchema` (`chat.schema.ts@1ad51a4:28-42`): one or more, each once; and `whatsappNumber` of the service
/// at 00e191f. That each has WhatsApp is this mock's.
fn numbers(body: &Value) -> (u16, Value) {
    let numbers = body["numbers"].as_array().map_or(&[][..], Vec::as_slice);
    let once = (0..numbers.len()).all(|at| numbers[at].is_string() && !numbers[..at].contains(&numbers[at]));
    if numbers.is_empty() || !once {
        return invalid(r#""numbers" must be an array of numeric strings"#.into());
    }
    if let Err(why) = members(body, &["numbers"], &[]) {
        return invalid(why);
    }
    let of = |number: &Value| {
        let number = number.as_str().unwrap_or_default();
        json!({"jid": jid(number), "exists": true, "number": number})
    };
    (200, numbers.iter().map(of).collect())
}

/// `deleteMessageSchema` (`chat.schema.ts@1ad51a4:121-132`). `deleteMessage` of the service at 00e191f asks WhatsApp to take the
/// message back in the conversation as it is written, without `createJid`, and says yes where there is no such message. What it
/// keeps itself it finds by the id alone: that is gone here also where it was taken back in the wrong conversation.
fn removed(body: &Value, kept: &mut Kept) -> (u16, Value) {
    let checked = members(body, &["id", "fromMe", "remoteJid"], &["participant"])
        .and_then(|()| text(body, "id", 256))
        .and_then(|_| text(body, "remoteJid", 256));
    if let Err(why) = checked {
        return invalid(why);
    }
    kept.messages.retain(|one| one["key"]["id"] != body["id"]);
    let key = json!({"id": "3EB0FFFFFFFFFFFFFFFF", "fromMe": true, "remoteJid": body["remoteJid"]});
    (
        201,
        json!({"key": key, "message": {"protocolMessage": {"key": body, "type": "REVOKE"}}, "status": "PENDING"}),
    )
}
