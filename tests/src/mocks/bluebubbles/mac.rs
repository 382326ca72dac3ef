//! The Mac behind the server: what people write there, what is done to it, and what the server hands over of it.
//!
//! Rows stand in a real database of the tables that Messages has, so a condition of the hub's is what SQLite takes it for. Below
//! `packages/server/src/server/` of <https://github.com/BlueBubblesApp/bluebubbles-server>:
//!
//! - `databases/imessage/index.ts`@1cf97bd02f40f2f3da4ff9e93a3e34db340074b4, `getMessages`: only rows with a conversation, ordered by
//!   their times, and `where` as it stands;
//! - `api/serializers/MessageSerializer.ts`@59202c12e366d60b63a56429c2456dd278600f08, `convert`: a row's members;
//! - `databases/imessage/helpers/dateUtil.ts`@81f85337c6f5234fa5fc035b751481e96dab374d: nanoseconds since 2001;
//! - `api/http/api/v1/routers/attachmentRouter.ts`@2d43933e1be8da80876cd23804aeafdd0fde16ac, `download`;
//! - `services/webhookService/index.ts`@14a1ec13c67ac5956ca0f3a3a1b5754dcda73ffe: `{type, data}`, posted once.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    net::TcpStream,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost::store::now_ms;
use rusqlite::{Connection, ToSql, types::Value as Sql};
use serde_json::{Value, json};

use super::{PASSWORD, Request};

/// The first moment of 2001, in milliseconds since 1970.
const YEAR_2001: i64 = 978_307_200_000;
/// The account's own number.
pub const OWN: &str = "+4915112345678";

/// Something that was sent by the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its GUID.
    pub guid: String,
    /// What it says now.
    pub text: String,
    /// Whether that was something else once.
    pub edited: bool,
}

/// What the server says instead of an answer, to whatever it is asked for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// This status.
    Says(u16),
    /// Nothing: the connection is closed.
    Nothing,
}

/// The Mac.
#[derive(Default)]
pub struct Mac {
    /// Conversations' GUIDs, and messages, in the order in which they came: each one's number is its place.
    pub(super) kept: Mutex<Vec<(Value, Value)>>,
    pub(super) chats: Mutex<BTreeSet<String>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    trouble: Mutex<Option<Trouble>>,
    backwards: Mutex<bool>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mac {
    /// A person writes: the message's GUID.
    pub fn writes(&self, chat: &str, sender: &str, text: &str) -> String {
        self.gets(chat, sender, json!({ "text": text }))
    }

    /// A person does what a row with these members says: its GUID.
    pub fn gets(&self, chat: &str, sender: &str, members: Value) -> String {
        let mut kept = locked(&self.kept);
        let number = kept.len() + 1;
        let mut row = json!({
            "originalROWID": number, "guid": format!("{number:08X}-0000-4000-8000-00000000BB00"), "text": null,
            "isFromMe": false, "error": 0, "dateCreated": now_ms(), "itemType": 0, "groupActionType": 0,
            "handle": {"originalROWID": 7, "address": sender, "service": "iMessage", "country": "de"},
        });
        for (name, value) in members.as_object().into_iter().flatten() {
            row[name] = value.clone();
        }
        let guid = row["guid"].as_str().unwrap_or_default().to_owned();
        kept.push((json!(chat), row));
        locked(&self.chats).insert(chat.to_owned());
        guid
    }

    /// A person sends a file, with words or without.
    pub fn sends_file(
        &self,
        chat: &str,
        sender: &str,
        (name, kind): (&str, &str),
        bytes: &[u8],
        words: &str,
    ) -> String {
        let guid = format!("at_0_{:08X}", locked(&self.files).len());
        locked(&self.files).insert(guid.clone(), bytes.to_vec());
        let file = json!({"guid": guid, "transferName": name, "mimeType": kind, "totalBytes": bytes.len(), "transferState": 5});
        self.gets(chat, sender, json!({"text": format!("\u{fffc}{words}"), "attachments": [file]}))
    }

    /// A person reacts to a message: `love`, `-love`, or a number.
    pub fn reacts(&self, chat: &str, sender: &str, message: &str, kind: &str) -> String {
        let target = format!("p:0/{message}");
        let text = "Loved “x”";
        self.gets(
            chat,
            sender,
            json!({"text": text, "associatedMessageGuid": target, "associatedMessageType": kind}),
        )
    }

    /// A message gets other words.
    pub fn edits(&self, guid: &str, text: &str) {
        self.changes(guid, &json!({ "text": text, "dateEdited": now_ms() }));
    }

    /// A message is taken back: it has no words any more (`pollers/MessagePoller.ts`@1514975).
    pub fn retracts(&self, guid: &str) {
        self.changes(guid, &json!({ "text": null, "dateEdited": now_ms() }));
    }

    /// A message of the account's came, and was read.
    pub fn is_read(&self, guid: &str) {
        self.changes(guid, &json!({ "dateDelivered": now_ms(), "dateRead": now_ms() }));
    }

    /// A message gets these members in all of its rows.
    pub fn changes(&self, guid: &str, members: &Value) {
        for (_, row) in locked(&self.kept).iter_mut().filter(|(_, row)| row["guid"] == guid) {
            for (name, value) in members.as_object().into_iter().flatten() {
                row[name] = value.clone();
            }
        }
    }

    /// A message comes again, with the same GUID under a new number, as when a Mac begins to keep its messages in iCloud.
    pub fn replays(&self, guid: &str) {
        let mut kept = locked(&self.kept);
        let Some((chat, mut row)) = kept.iter().find(|(_, row)| row["guid"] == guid).cloned() else { return };
        row["originalROWID"] = json!(kept.len() + 1);
        kept.push((chat, row));
    }

    /// Answers have their rows in the other order from now on, or no longer.
    pub fn turns(&self, backwards: bool) {
        *locked(&self.backwards) = backwards;
    }

    /// From now on it answers questions for messages like this, or as ever.
    pub fn is_in(&self, trouble: Option<Trouble>) {
        *locked(&self.trouble) = trouble;
    }

    /// All that the account sent to a conversation, in order.
    pub fn sent_to(&self, chat: &str) -> Vec<Sent> {
        let kept = locked(&self.kept);
        let own = kept.iter().filter(|(of, row)| *of == chat && row["isFromMe"] == true);
        own.map(|(_, row)| Sent {
            guid: row["guid"].as_str().unwrap_or_default().to_owned(),
            text: row["text"].as_str().unwrap_or_default().to_owned(),
            edited: row["dateEdited"].is_i64(),
        })
        .collect()
    }

    /// A webhook: its headers and body, for an address with this password in it.
    pub fn webhook(secret: &str, kind: &str) -> ((&'static str, String), Vec<u8>) {
        let proof = format!("Basic {}", STANDARD.encode(format!("hub:{secret}")));
        (("Authorization", proof), json!({"type": kind, "data": {}}).to_string().into_bytes())
    }

    /// What the server says to a question with `where`.
    pub(super) fn select(&self, body: &Value) -> Result<Vec<Value>> {
        let kept = locked(&self.kept);
        let numbers = find(&kept, body).context("the hub's question")?;
        let mut rows: Vec<Value> = numbers
            .iter()
            .filter_map(|number| kept.iter().find(|(_, row)| row["originalROWID"] == *number))
            .map(|(chat, row)| whole(chat, row))
            .collect();
        if *locked(&self.backwards) {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Serves a file, or is in trouble.
    pub(super) fn take(&self, request: &Request, mut stream: &TcpStream) -> Result<bool> {
        let path: Vec<&str> = request.path.trim_start_matches("/api/v1/").split('/').collect();
        let trouble = *locked(&self.trouble);
        let (status, kind, body) = match (path.as_slice(), trouble) {
            (["message", "query"], Some(Trouble::Nothing)) => return Ok(true),
            (["message", "query"], Some(Trouble::Says(status))) => {
                let said =
                    json!({"status": status, "message": "trouble", "error": {"message": "it is in trouble"}});
                (status, "application/json", said.to_string().into_bytes())
            }
            (["attachment", guid, "download"], _) if request.query == format!("password={PASSWORD}") => {
                match locked(&self.files).get(*guid) {
                    Some(bytes) => (200, "application/octet-stream", bytes.clone()),
                    None => (404, "application/json", b"{}".to_vec()),
                }
            }
            _ => return Ok(false),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), &body].concat())?;
        Ok(true)
    }
}

/// A row as it is handed over: what was sent has fewer members here.
fn whole(chat: &Value, row: &Value) -> Value {
    let mut whole = json!({
        "handle": null, "handleId": 0, "otherHandle": 0, "attachments": [], "subject": null, "dateRead": null,
        "dateDelivered": null, "dateEdited": null, "dateRetracted": null, "isAudioMessage": false, "itemType": 0,
        "groupTitle": null, "groupActionType": 0, "balloonBundleId": null, "associatedMessageGuid": null,
        "associatedMessageType": null, "threadOriginatorGuid": null, "attributedBody": null, "messageSummaryInfo": null,
    });
    for (name, value) in row.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    let is_group = chat.as_str().is_some_and(|chat| chat.contains(";+;"));
    let (style, title) = if is_group { (43, "Family") } else { (45, "") };
    whole["chats"] =
        json!([{"guid": chat, "style": style, "displayName": title, "lastAddressedHandle": OWN}]);
    whole
}

fn find(kept: &[(Value, Value)], body: &Value) -> Result<Vec<i64>> {
    let db = database(kept)?;
    let mut sql = "SELECT DISTINCT message.ROWID FROM message JOIN chat_message_join of ON of.message_id = message.ROWID \
        JOIN chat ON chat.ROWID = of.chat_id WHERE message.date >= :after"
        .to_owned();
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let after = body["after"].as_i64().map_or(i64::MIN, |after| (after - YEAR_2001) * 1_000_000);
    let mut named = vec![
        (":after".to_owned(), Sql::Integer(after)),
        (":take".to_owned(), Sql::Integer(number(&body["limit"]))),
        (":skip".to_owned(), Sql::Integer(number(&body["offset"]))),
    ];
    for clause in body["where"].as_array().context("a list")? {
        sql.push_str(&format!(" AND ({})", clause["statement"].as_str().context("a statement")?));
        for (name, value) in clause["args"].as_object().into_iter().flatten() {
            named.push((format!(":{name}"), Sql::Integer(value.as_i64().context("a number")?)));
        }
    }
    sql.push_str(&format!(
        " ORDER BY message.date {} LIMIT :take OFFSET :skip",
        if body["sort"] == "ASC" { "ASC" } else { "DESC" }
    ));
    let mut select = db.prepare(&sql)?;
    let named: Vec<(&str, &dyn ToSql)> =
        named.iter().map(|(name, value)| (name.as_str(), value as &dyn ToSql)).collect();
    Ok(select.query_map(&named[..], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

fn database(kept: &[(Value, Value)]) -> Result<Connection> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(
        "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, date INTEGER, is_from_me INTEGER, date_read INTEGER,
            date_delivered INTEGER, date_edited INTEGER, date_retracted INTEGER);
         CREATE TABLE chat (ROWID INTEGER PRIMARY KEY);
         CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
         INSERT INTO chat VALUES (1);",
    )?;
    let time = |row: &Value, name: &str| row[name].as_i64().map_or(0, |at| (at - YEAR_2001) * 1_000_000);
    let tx = db.transaction()?;
    {
        let mut message = tx.prepare("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?)")?;
        let mut of = tx.prepare("INSERT INTO chat_message_join VALUES (1, ?)")?;
        for (_, row) in kept {
            let number = row["originalROWID"].as_i64();
            message.execute(rusqlite::params![
                number,
                time(row, "dateCreated"),
                row["isFromMe"] == true,
                time(row, "dateRead"),
                time(row, "dateDelivered"),
                time(row, "dateEdited"),
                time(row, "dateRetracted")
            ])?;
            of.execute([number])?;
        }
    }
    tx.commit()?;
    Ok(db)
}
