//! A BlueBubbles server 1.9.9 on macOS 26, version 1 of its interface. Each rule names its file in
//! <https://github.com/BlueBubblesApp/bluebubbles-server> below `packages/server/src/server/api/`, as
//! `FILE@COMMIT:LINE`. No copy of the tag 1.9.9 itself could be read; these commits were, each of which the first seven
//! digits name below:
//!
//! - `http/api/v1/validators/messageValidator.ts`@172b95fea2200325ec837c93567b363fad859d82 (later, with
//!   `textFormatting`)
//! - `http/api/v1/validators/chatValidator.ts`@21c337e917f74e0f15770a01606ed3ef1946ebd6 (later, with `forceNew`)
//! - `http/api/v1/routers/messageRouter.ts`@172b95fea2200325ec837c93567b363fad859d82 (later)
//! - `http/api/v1/routers/chatRouter.ts`@2d43933e1be8da80876cd23804aeafdd0fde16ac
//! - `http/api/v1/routers/serverRouter.ts`@3eb94b113a350350a02cc3c274a8895c52ca1c5d
//! - `http/api/v1/responses/errors.ts`@560b1e51499517f10734d9a5f863e37f3fb6d031
//! - `http/api/v1/middleware/errorMiddleware.ts`@8621aa5b750b6c418e080f791e9afe0860da71c1
//! - the enums `ErrorTypes` and `ResponseMessages`, whose words the errors have, in a text without its path and commit
//! - `interfaces/chatInterface.ts`@1c8ca8038e046cc11768547c738feee0c3585dd4
//! - `interfaces/generalInterface.ts`@560b1e51499517f10734d9a5f863e37f3fb6d031
//! - `interfaces/messageInterface.ts`@8621aa5b750b6c418e080f791e9afe0860da71c1 (without `textFormatting`)
//! - `checkPrivateApiStatus` of `../helpers/utils.ts`@0e1ef4956fbefbb8df8f8dc1bc3ca7de73496f55
//!
//! `textFormatting` and `forceNew`, which a later one accepts and 1.9.9 may not, are refused here. The server ignores
//! a member that a rule does not name; here it is refused, for nothing that is sent is to be ignored.
//!
//! [`mac`] is what people write on the Mac, and how it is handed over.

pub mod mac;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use gatepost::store::now_ms;
use serde_json::{Value, json};

use self::mac::Mac;
use super::{Answer, MockServer, Request, members, text};
use crate::hub::secret;

/// Its password, as it stands in an address.
pub const PASSWORD: &str = "bluebubbles-password";
/// `sendReactionRules`: `MessageInterface.possibleReactions` (`messageInterface.ts@8621aa5:27-40`), and each with a
/// minus before it, which takes it back.
const REACTIONS: [&str; 6] = ["love", "like", "dislike", "laugh", "emphasize", "question"];

/// What the router says of one kind of message: when it has gone, and with what it heads whatever was thrown.
struct Words {
    well: &'static str,
    ill: &'static str,
    /// What is thrown of a message that Messages does not write down: it went to no chat.
    nowhere: &'static str,
}

/// `messageRouter.ts@172b95f:291` and 324; `messageInterface.ts@8621aa5:250-260`.
const TEXT: Words = Words {
    well: "Message sent!",
    ill: "Message Send Error",
    nowhere: "Failed to send message! Message not found in database after 60 seconds!",
};
/// `messageRouter.ts@172b95f:367` and 399; `messageInterface.ts@8621aa5:313`.
const FILE: Words = Words {
    well: "Attachment sent!",
    ill: "Attachment Send Error",
    nowhere: "Failed to send attachment! Attachment not found in database after 60 seconds!",
};
/// `messageRouter.ts@172b95f:618` and 658; `sendReaction` of `messageInterface.ts@8621aa5`.
const REACTION: Words = Words {
    well: "Reaction sent!",
    ill: "Reaction Send Error",
    nowhere: "Failed to send reaction! Message not found in database after 60 seconds!",
};
/// `messageRouter.ts@172b95f:745` and 785.
const EDIT: Words = Words { well: "Message edited!", ill: "Message Edit Error", nowhere: "" };
/// `messageRouter.ts@172b95f:678` and 718.
const UNSEND: Words = Words { well: "Message unsent!", ill: "Unsend Message Error", nowhere: "" };

/// A text that Messages could not send, by the Private API. The router throws what it found (`messageRouter.ts@172b95f`,
/// 284 to 289), catches that, for it is no `Message`, and throws it anew with its words alone (324): `HTTPError` puts its
/// status before them (`errors.ts@560b1e5:9-17`), and the message with its error number is left behind.
pub fn text_not_sent_by_helper() -> Answer {
    Answer::Says(500, thrown(&TEXT, "[500] Message sent with an error. See attached message"))
}

/// The same by AppleScript: the message is there, with Messages' number (`messageRouter.ts@172b95f:297-322`).
pub fn text_not_sent_by_script(number: i64) -> Answer {
    let mut body = thrown(&TEXT, "Failed to send message! See attached message error code.");
    body["data"] = json!({"guid": "GUID-none", "isFromMe": true, "error": number});
    Answer::Says(500, body)
}

/// A file that Messages could not send, by the Private API: the message was written down, waiting for it to be sent failed,
/// and that is caught (`messageInterface.ts@8621aa5`, `sendAttachmentSync`); the router does not look at its error
/// (`messageRouter.ts@172b95f:329-367`). So it says that it was sent.
pub fn file_not_sent(number: i64) -> Answer {
    let data = json!({"guid": "GUID-none", "isFromMe": true, "error": number});
    Answer::Says(200, json!({"status": 200, "message": FILE.well, "data": data}))
}

/// A file while the helper is away: `sendAttachmentPrivateApi` (`messageInterface.ts@8621aa5`) begins with
/// `checkPrivateApiStatus`, before anything is sent.
pub fn file_without_helper() -> Answer {
    Answer::Says(500, thrown(&FILE, "iMessage Private API Helper is not connected!"))
}

/// `IMessageError` (`errors.ts@560b1e5:89-101`).
fn thrown(words: &Words, why: &str) -> Value {
    json!({"status": 500, "message": words.ill, "error": {"type": "iMessage Error", "message": why}})
}

/// An account here, whose password is in a file of this folder.
///
/// # Errors
/// The file system's.
pub fn account(server: &MockServer, folder: &Path) -> Result<String> {
    let password = secret(folder, "password", PASSWORD)?;
    Ok(format!("[channels.imessage.mac]\nurl = \"{}\"\npassword = {password}\n", server.url()))
}

/// Starts one whose Private API works.
///
/// # Errors
/// There is no port to listen on.
pub fn start() -> Result<MockServer> {
    holding(&[])
}

/// The same with messages that people have written: the GUIDs of each one's chat, and its own.
///
/// # Errors
/// There is no port to listen on.
pub fn holding(written: &[(&str, &str)]) -> Result<MockServer> {
    let written = written.iter().map(|(chat, guid)| {
        (
            json!(chat),
            json!({"guid": guid, "text": "I say.", "isFromMe": false, "error": 0, "dateCreated": 0}),
        )
    });
    let (server, mac) = start_with()?;
    let mut kept = mac.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let mut chats = mac.chats.lock().unwrap_or_else(PoisonError::into_inner);
    for (chat, message) in written {
        chats.extend(chat.as_str().map(str::to_owned));
        kept.push((chat, message));
    }
    drop((kept, chats));
    Ok(server)
}

/// One whose Private API works, and the Mac behind it.
///
/// # Errors
/// There is no port to listen on.
pub fn start_with() -> Result<(MockServer, Arc<Mac>)> {
    let mac = Arc::new(Mac::default());
    let (behind, files) = (Arc::clone(&mac), Arc::clone(&mac));
    let server = MockServer::with_streams(
        move |request| answer(request, &behind),
        move |request, stream| files.take(request, stream),
    )?;
    Ok((server, mac))
}

fn answer(request: &Request, mac: &Mac) -> (u16, Value) {
    let (kept, chats) = (&mac.kept, &mac.chats);
    let mut query: Vec<&str> = request.query.split('&').collect();
    let with = query.iter().position(|pair| *pair == "with=chats").map(|at| query.remove(at));
    if query != [format!("password={PASSWORD}")] {
        // `Unauthorized` (`errors.ts@560b1e5:19-31`). That the password is in the address is not in the sources
        // that could be read.
        return (
            401,
            json!({"status": 401, "message": "You are not authorized to access this resource", "error": {"type": "Authentication Error", "message": "Unauthorized"}}),
        );
    }
    let path: Vec<&str> = request.path.trim_start_matches("/api/v1/").split('/').collect();
    let body = request.json();
    let there = |words: &'static Words| {
        if is_there(&body, request, chats) { Ok(words) } else { Err((500, thrown(words, words.nowhere))) }
    };
    let checked: Result<&Words, (u16, Value)> = match (request.method.as_str(), path.as_slice()) {
        // `ServerRouter.getInfo` (`serverRouter.ts@3eb94b1:15-17`), `getServerMetadata`
        // (`generalInterface.ts@560b1e5:13-27`).
        ("GET", ["server", "info"]) => {
            let data = json!({"server_version": "1.9.9", "os_version": "26.0.1", "private_api": true, "helper_connected": true, "detected_imessage": mac::OWN});
            return (200, json!({"status": 200, "data": data}));
        }
        // `MessageRouter.find` (`messageRouter.ts@172b95f:75-114`); its chats are named if they are asked for.
        ("GET", ["message", guid]) => {
            let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((chat, message)) = kept.iter().find(|(_, message)| message["guid"] == *guid) else {
                // `messageRouter.ts@172b95f:87`, `NotFound` (`errors.ts@560b1e5:61-73`).
                let error = json!({"type": "Database Error", "message": "Message does not exist!"});
                let message = "The requested resource was not found";
                return (404, json!({"status": 404, "message": message, "error": error}));
            };
            let mut data = message.clone();
            data["chats"] = if with.is_some() { json!([{"guid": chat}]) } else { json!([]) };
            return (200, json!({"status": 200, "message": "Success", "data": data}));
        }
        // `ChatRouter.query` (`chatRouter.ts@2d43933:118-152`), `ChatInterface.get`
        // (`chatInterface.ts@1c8ca80:26`): one GUID as it stands. A chat with a person is there once somebody has
        // written.
        ("POST", ["chat", "query"]) => {
            let guid = body["guid"].as_str().unwrap_or_default();
            let known = chats.lock().unwrap_or_else(PoisonError::into_inner).contains(guid);
            let data = if known {
                json!([{"guid": guid, "chatIdentifier": guid.rsplit(';').next()}])
            } else {
                json!([])
            };
            return (200, json!({"status": 200, "message": "Success", "data": data}));
        }
        // `ChatRouter.create` (`chatRouter.ts@2d43933:193-235`), `ChatInterface.create`
        // (`chatInterface.ts@1c8ca80:282-333`): with a message, which makes the chat.
        ("POST", ["chat", "new"]) => match created(&body) {
            Ok(guid) => {
                let by_script = body["method"] == "apple-script";
                chats.lock().unwrap_or_else(PoisonError::into_inner).insert(guid.clone());
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let id = format!("GUID-{}", kept.len());
                let row = kept.len() + 1;
                let message = json!({"guid": id, "text": body["message"], "isFromMe": true, "error": 0, "dateCreated": now_ms(), "originalROWID": row});
                kept.push((json!(guid), message.clone()));
                if by_script {
                    return no_such_chat();
                }
                let data = json!({"guid": guid, "messages": [message]});
                return (200, json!({"status": 200, "message": "Successfully created chat!", "data": data}));
            }
            Err(why) => Err(bad_request(&why)),
        },
        // `MessageRouter.sendText` (`messageRouter.ts@172b95f:239-327`). Of a chat that Messages does not have nothing is
        // sent, and nobody says so.
        ("POST", ["message", "text"]) => {
            sent(&body).map_err(|why| bad_request(&why)).and_then(|()| there(&TEXT))
        }
        // `MessageRouter.query` (`messageRouter.ts@172b95f:116-237`): of a chat that is not there it has nothing
        // (144-151).
        ("POST", ["message", "query"]) if body["where"].is_array() => {
            return match queried(&body).and_then(|()| mac.select(&body).map_err(|error| format!("{error:#}")))
            {
                Ok(found) => {
                    (200, json!({"status": 200, "message": "Successfully fetched messages!", "data": found}))
                }
                Err(why) => bad_request(&why),
            };
        }
        ("POST", ["message", "query"]) => {
            let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let of = |(chat, message): &(Value, Value)| {
                (*chat == body["chatGuid"] && message["dateCreated"].as_i64() >= body["after"].as_i64())
                    .then(|| message.clone())
            };
            let most = usize::try_from(body["limit"].as_u64().unwrap_or(100)).unwrap_or(100);
            let first = usize::try_from(body["offset"].as_u64().unwrap_or(0)).unwrap_or(0);
            let mut found: Vec<Value> = kept.iter().filter_map(of).collect();
            if body["sort"] != "ASC" {
                found.reverse();
            }
            let found: Vec<Value> = found.into_iter().skip(first).take(most).collect();
            return match queried(&body) {
                Ok(()) => {
                    (200, json!({"status": 200, "message": "Successfully fetched messages!", "data": found}))
                }
                Err(why) => bad_request(&why),
            };
        }
        // `MessageRouter.sendAttachment` (`messageRouter.ts@172b95f:329-402`).
        ("POST", ["message", "attachment"]) => {
            attached(request).map_err(|why| bad_request(&why)).and_then(|()| there(&FILE))
        }
        // `MessageRouter.react` (`messageRouter.ts@172b95f:611-612`), `editMessage` (728-729) and `unsendMessage`
        // (668-669) look for the message first.
        ("POST", ["message", "react"]) => reacted(&body)
            .and_then(|()| exists(kept, body["selectedMessageGuid"].as_str().unwrap_or_default()))
            .map_err(|why| bad_request(&why))
            .and_then(|()| there(&REACTION)),
        ("POST", ["message", guid, "edit"]) => {
            let checked = edited(&body).and_then(|()| exists(kept, guid));
            return done(checked, kept, guid, &EDIT, Some(&body["editedMessage"]));
        }
        // `unsendParamRules` (`messageValidator.ts@172b95f:209-211`).
        ("POST", ["message", guid, "unsend"]) => {
            let checked = members(&body, &[], &["partIndex"]).and_then(|()| exists(kept, guid));
            return done(checked, kept, guid, &UNSEND, None);
        }
        // `ChatRouter.startTyping` and `markRead` (`chatRouter.ts@2d43933`).
        ("POST", ["chat", guid, "typing" | "read"]) => {
            let known = chats.lock().unwrap_or_else(PoisonError::into_inner).contains(*guid);
            return if known {
                (200, json!({"status": 200, "message": "Success"}))
            } else {
                bad_request("no such chat")
            };
        }
        // `HandleInterface.get` (`interfaces/handleInterface.ts@560b1e5`).
        ("POST", ["handle", "query"]) => return (200, json!({"status": 200, "data": []})),
        // What it says of a path that it does not have is not in the sources that could be read.
        _ => {
            return (404, json!({"status": 404, "error": {"type": "Not Found", "message": "Not Found"}}));
        }
    };
    match checked {
        Ok(words) => {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (guid, at) = (format!("GUID-{}", kept.len()), now_ms());
            let message = json!({"guid": guid, "text": body["message"], "isFromMe": true, "error": 0, "dateCreated": at, "originalROWID": kept.len() + 1});
            kept.push((body["chatGuid"].clone(), message));
            (200, json!({"status": 200, "message": words.well, "data": {"guid": guid, "error": 0}}))
        }
        Err(said) => said,
    }
}

/// What was done to a message: the answer has the message itself (`messageRouter.ts@172b95f:677-689`, 744 to 756).
fn done(
    checked: Result<(), String>,
    kept: &Mutex<Vec<(Value, Value)>>,
    guid: &str,
    words: &Words,
    text: Option<&Value>,
) -> (u16, Value) {
    if let Err(why) = checked {
        return bad_request(&why);
    }
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((_, message)) = kept.iter_mut().find(|(_, message)| message["guid"] == guid) else {
        return (500, thrown(words, "it has gone meanwhile"));
    };
    message["text"] = text.cloned().unwrap_or_default();
    message["dateEdited"] = json!(now_ms());
    (200, json!({"status": 200, "message": words.well, "data": message}))
}

/// `BadRequest` (`errors.ts@560b1e5:47-59`).
fn bad_request(why: &str) -> (u16, Value) {
    let message = "You've made a bad request! Please check your request params & body";
    (400, json!({"status": 400, "message": message, "error": {"type": "Validation Error", "message": why}}))
}

/// Whether there is such a message, as the router asks (`messageRouter.ts@172b95f:611-612`, 668-669, 728-729).
fn exists(kept: &Mutex<Vec<(Value, Value)>>, guid: &str) -> Result<(), String> {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let is_there = kept.iter().any(|(_, message)| message["guid"] == guid);
    if is_there { Ok(()) } else { Err("Selected message does not exist!".into()) }
}

/// `service;kind;address`, as the GUIDs of Apple's database are
/// (`chatValidator.ts@21c337e` has no rule for their form; one of another form finds no chat).
fn chat(guid: &str) -> Result<(), String> {
    match guid.split(';').collect::<Vec<_>>().as_slice() {
        [_, "-" | "+", id] if !id.is_empty() => Ok(()),
        _ => Err(format!("{guid} is no chat's GUID")),
    }
}

/// `sendTextRules` (`messageValidator.ts@172b95f:71-82`) and `validateText` (84-138). The server takes the Private API
/// by itself for what only that does, and needs a `tempGuid` for AppleScript alone; here such a message is refused
/// without it, and each has both: the hub is to say what it wants. The bound on the text is this mock's.
fn sent(body: &Value) -> Result<(), String> {
    let may = ["effectId", "subject", "selectedMessageGuid", "partIndex"];
    members(body, &["chatGuid", "tempGuid", "message", "method"], &may)?;
    text(body, "tempGuid", 256)?;
    text(body, "message", 65_536)?;
    chat(text(body, "chatGuid", 256)?)?;
    let private = body["method"] == "private-api";
    if !private && (body["method"] != "apple-script" || may.iter().any(|name| !body[*name].is_null())) {
        return Err("only the Private API does that".into());
    }
    match body["effectId"].as_str() {
        Some(id) if !id.starts_with("com.apple.") => Err(format!("{id} is no effect")),
        _ => Ok(()),
    }
}

/// What `createWithAppleScript` comes to on macOS 26 (`chatInterface.ts@1c8ca80:212-280`). From Big Sur on it sends the
/// text to `iMessage;-;ADDRESS` and then looks for a chat of that name for 30 s (229-262). Messages has named it
/// `any;-;ADDRESS`: nothing is found, and `chats[0].messages` is set of nothing (274-277), which throws when the text
/// has gone. Here nobody waits for the 30 s. What is thrown and is no answer of its own is answered by
/// `errorMiddleware.ts@8621aa5:32-38`, whose words `message` has.
fn no_such_chat() -> (u16, Value) {
    let why = "Cannot set properties of undefined (setting 'messages')";
    (
        500,
        json!({"status": 500, "message": "An unhandled error has occurred!", "error": {"type": "Server Error", "message": why}}),
    )
}

/// `createRules` (`chatValidator.ts@21c337e:43-52`), for one person; the chat is named as macOS 26 names it.
fn created(body: &Value) -> Result<String, String> {
    members(body, &["addresses", "message", "method", "service", "tempGuid"], &["effectId", "subject"])?;
    text(body, "message", 65_536)?;
    let one = body["addresses"].as_array().filter(|list| list.len() == 1).and_then(|list| list[0].as_str());
    let one = one.ok_or("addresses has one person")?;
    if body["method"] != "apple-script" && body["method"] != "private-api" {
        return Err("method is apple-script or private-api".into());
    }
    // By AppleScript the server would drop them in silence (`chatInterface.ts@1c8ca80:326-331`: `createWithAppleScript`
    // takes neither).
    if body["method"] == "apple-script" && !(body["effectId"].is_null() && body["subject"].is_null()) {
        return Err("only the Private API does that".into());
    }
    if body["service"] != "iMessage" {
        return Err("service is iMessage or SMS".into());
    }
    Ok(format!("any;-;{one}"))
}

/// Whether the chat of a request is there.
fn is_there(body: &Value, request: &Request, chats: &Mutex<BTreeSet<String>>) -> bool {
    let chats = chats.lock().unwrap_or_else(PoisonError::into_inner);
    match body["chatGuid"].as_str() {
        Some(guid) => chats.contains(guid),
        None => {
            let form = String::from_utf8_lossy(&request.body);
            chats.iter().any(|guid| form.contains(&format!("name=\"chatGuid\"\r\n\r\n{guid}\r\n")))
        }
    }
}

/// `queryBodyRules` (`messageValidator.ts@172b95f:52-64`).
fn queried(body: &Value) -> Result<(), String> {
    let may = ["with", "convertAttachments", "where", "sort", "after", "before", "offset", "limit"];
    // All are asked for by a condition, those of a chat by its name.
    let must = if body["where"].is_array() { &[][..] } else { &["chatGuid"][..] };
    members(body, must, &may)?;
    let at_least = |name: &str, least: i64| body[name].is_null() || body[name].as_i64() >= Some(least);
    let sort = body["sort"].is_null() || matches!(body["sort"].as_str(), Some("ASC" | "DESC"));
    let limit = body["limit"].is_null() || matches!(body["limit"].as_u64(), Some(1..=1_000));
    let lists = ["with", "where"].iter().all(|name| body[*name].is_null() || body[*name].is_array());
    match sort && limit && lists && at_least("after", 0) && at_least("before", 1) && at_least("offset", 0) {
        true => Ok(()),
        false => Err(format!("{body} breaks the rules of a query")),
    }
}

/// `sendAttachmentRules` (`messageValidator.ts@172b95f:140-150`) and `validateAttachment` (152-184). `tempGuid` is
/// needed for AppleScript alone, which is the method if none is named and nothing asks for the Private API.
fn attached(request: &Request) -> Result<(), String> {
    const MAY: [&str; 6] =
        ["method", "isAudioMessage", "effectId", "subject", "selectedMessageGuid", "partIndex"];
    let body = String::from_utf8_lossy(&request.body);
    let field = |name: &str| {
        let (_, rest) = body.split_once(&format!(" name=\"{name}\""))?;
        let (_, rest) = rest.split_once("\r\n\r\n")?;
        rest.split_once("\r\n--").map(|(value, _)| value).filter(|value| !value.is_empty())
    };
    for name in ["chatGuid", "name"] {
        field(name).ok_or(format!("The {name} field is mandatory"))?;
    }
    for part in body.split("Content-Disposition: form-data; name=\"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        if !["chatGuid", "tempGuid", "name", "attachment"].contains(&name) && !MAY.contains(&name) {
            return Err(format!("{name} is unknown"));
        }
    }
    let private = match field("method") {
        Some("private-api") => true,
        None | Some("apple-script") => {
            ["effectId", "subject", "selectedMessageGuid"].iter().any(|name| field(name).is_some())
        }
        Some(other) => return Err(format!("{other} is no method")),
    };
    if !private && field("tempGuid").is_none() {
        return Err("A 'tempGuid' is required when sending via AppleScript".into());
    }
    field("attachment").map(drop).ok_or("Attachment not provided or was empty!".into())
}

/// `sendReactionRules` (`messageValidator.ts@172b95f:186-191`).
fn reacted(body: &Value) -> Result<(), String> {
    members(body, &["chatGuid", "selectedMessageGuid", "reaction"], &["partIndex"])?;
    text(body, "selectedMessageGuid", 256)?;
    let reaction = text(body, "reaction", 20)?;
    let known = REACTIONS.contains(&reaction.strip_prefix('-').unwrap_or(reaction));
    if known { Ok(()) } else { Err(format!("{reaction} is no reaction")) }
}

/// `editParamRules` (`messageValidator.ts@172b95f:198-202`): neither text is empty. Their bound is this mock's.
fn edited(body: &Value) -> Result<(), String> {
    members(body, &["editedMessage", "backwardsCompatibilityMessage"], &["partIndex"])?;
    text(body, "editedMessage", 65_536)?;
    text(body, "backwardsCompatibilityMessage", 65_536).map(drop)
}
