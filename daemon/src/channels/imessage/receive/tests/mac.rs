//! A BlueBubbles server on loopback, whose rows stand in a real database of the tables that Messages has: what the account asks for is a
//! condition in SQL, and SQLite says what it means.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use rusqlite::{Connection, types::Value as Sql};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};

/// Its password.
pub(super) const PASSWORD: &str = "bb_secret";
/// Somebody, and the conversation with them.
pub(super) const ANNA: &str = "+4915112345679";
pub(super) const CHAT: &str = "any;-;+4915112345679";
/// As the database counts.
const YEAR_2001: i64 = 978_307_200_000;

/// The server. It ends with this.
pub(super) struct Mac {
    pub(super) port: u16,
    told: Arc<Mutex<Told>>,
    server: JoinHandle<()>,
}

#[derive(Default)]
pub(super) struct Told {
    /// In the order in which they came.
    pub(super) kept: Vec<Kept>,
    /// What the next questions for messages are answered with instead.
    pub(super) instead: VecDeque<(u16, String)>,
    /// Rows over which it fails.
    pub(super) broken: Vec<i64>,
    /// Whether it never says what Mac it is.
    pub(super) is_mute: bool,
    /// What the next questions for a file are, and then the file.
    pub(super) no_file: VecDeque<u16>,
    pub(super) file: Vec<u8>,
    /// How the names of files begin that never come, if any do.
    pub(super) never: String,
    /// Paths, queries and bodies.
    pub(super) asked: Vec<(String, Value)>,
}

/// A row.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) row: Value,
    /// As it is handed over, if not as JSON has it.
    pub(super) raw: Option<String>,
}

impl From<Value> for Kept {
    fn from(row: Value) -> Self {
        Self { row, raw: None }
    }
}

impl Mac {
    pub(super) async fn start() -> Self {
        let told = Arc::new(Mutex::new(Told::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(told.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { port, told, server }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A row comes, of this number.
    pub(super) fn gets(&self, number: i64, row: Value) {
        let row = numbered(number, row);
        self.state().kept.push(row.into());
    }

    /// How often this path was asked.
    pub(super) fn asked(&self, path: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked.starts_with(path)).count()
    }
}

/// The same row under a number.
pub(super) fn numbered(number: i64, mut row: Value) -> Value {
    row["originalROWID"] = json!(number);
    row
}

/// A text of Anna's.
pub(super) fn said(guid: &str, at: i64) -> Value {
    json!({
        "guid": guid, "text": guid, "isFromMe": false, "dateCreated": at, "itemType": 0, "groupActionType": 0,
        "handle": {"originalROWID": 7, "address": ANNA, "service": "iMessage"}, "otherHandle": 0, "attachments": [],
        "chats": [{"guid": CHAT, "style": 45, "displayName": "", "lastAddressedHandle": "+4915112345678"}],
        "associatedMessageGuid": null, "associatedMessageType": null, "threadOriginatorGuid": null,
        "dateRead": null, "dateDelivered": null, "dateEdited": null, "dateRetracted": null, "subject": null,
        "balloonBundleId": null, "isAudioMessage": false,
    })
}

/// The same row with other members.
pub(super) fn with(mut row: Value, members: Value) -> Value {
    let members = members.as_object().unwrap().clone();
    row.as_object_mut().unwrap().extend(members);
    row
}

impl Drop for Mac {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(told): State<Arc<Mutex<Told>>>, uri: Uri, body: Bytes) -> Response {
    let is_mute = |told: &Mutex<Told>| told.lock().unwrap_or_else(PoisonError::into_inner).is_mute;
    while uri.path() == "/api/v1/server/info" && is_mute(&told) {
        sleep(Duration::from_millis(20)).await;
    }
    let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    told.asked.push((uri.path().to_owned(), body.clone()));
    if uri.query().is_none_or(|query| !query.contains(&format!("password={PASSWORD}"))) {
        return (StatusCode::UNAUTHORIZED, json!({"error": {"message": "Unauthorized"}}).to_string())
            .into_response();
    }
    let status = |status: u16| StatusCode::from_u16(status).unwrap();
    match uri.path() {
        "/api/v1/server/info" => json!({"data": {
            "server_version": "1.9.9", "os_version": "26.0.1", "private_api": true, "helper_connected": true,
            "detected_imessage": "hub@example.org",
        }})
        .to_string()
        .into_response(),
        "/api/v1/message/query" => match told.instead.pop_front() {
            Some((code, said)) => (status(code), said).into_response(),
            None => match page(&told, &body) {
                Ok(Some(page)) => page.into_response(),
                Ok(None) => (status(500), json!({"error": {"message": "Cannot read properties of undefined"}}).to_string())
                    .into_response(),
                Err(error) => (status(500), json!({"error": {"message": error.to_string()}}).to_string())
                    .into_response(),
            },
        },
        "/api/v1/handle/query" => {
            json!({"data": [{"originalROWID": 7, "address": ANNA}, {"originalROWID": 8, "address": "ben@example.org"}]})
                .to_string()
                .into_response()
        }
        "/api/v1/chat/query" => json!({"data": [{"guid": CHAT}]}).to_string().into_response(),
        path if !told.never.is_empty() && path.starts_with(&format!("/api/v1/attachment/{}", told.never)) => {
            status(404).into_response()
        }
        path if path.starts_with("/api/v1/attachment/") => match told.no_file.pop_front() {
            Some(code) => (status(code), json!({"error": {"message": "Attachment does not exist in disk!"}}).to_string())
                .into_response(),
            None => ([("content-type", "text/plain")], told.file.clone()).into_response(),
        },
        _ => json!({"status": 200, "message": "done"}).to_string().into_response(),
    }
}

/// The rows that a question names; nothing where it fails over one. It finds them as `MessageRepository.getMessages` has the database find them (`databases/imessage/index.ts` at
/// 1cf97bd).
fn page(told: &Told, body: &Value) -> rusqlite::Result<Option<String>> {
    let kept = &told.kept;
    let db = database(kept)?;
    let clause = &body["where"][0];
    let statement = clause["statement"].as_str().unwrap();
    let sql = format!(
        "SELECT DISTINCT message.ROWID FROM message JOIN chat_message_join of ON of.message_id = message.ROWID \
         JOIN chat ON chat.ROWID = of.chat_id WHERE ({statement}) AND message.date >= :after \
         ORDER BY message.date {} LIMIT :take OFFSET :skip",
        body["sort"].as_str().unwrap()
    );
    let number = |name: &str| body[name].as_i64().unwrap_or(0);
    let after = body["after"].as_i64().map_or(i64::MIN, |after| (after - YEAR_2001) * 1_000_000);
    let mut named: Vec<(String, Sql)> = clause["args"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (format!(":{name}"), Sql::Integer(value.as_i64().unwrap())))
        .collect();
    named.extend([
        (":after".to_owned(), Sql::Integer(after)),
        (":take".to_owned(), Sql::Integer(number("limit"))),
        (":skip".to_owned(), Sql::Integer(number("offset"))),
    ]);
    let mut select = db.prepare(&sql)?;
    let named: Vec<(&str, &dyn rusqlite::ToSql)> =
        named.iter().map(|(name, value)| (name.as_str(), value as &dyn rusqlite::ToSql)).collect();
    let found =
        select.query_map(&named[..], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    if found.iter().any(|number| told.broken.contains(number)) {
        return Ok(None);
    }
    let of = |number: &i64| kept.iter().rev().find(|one| one.row["originalROWID"] == *number).unwrap();
    let rows: Vec<String> = found
        .iter()
        .map(|number| of(number).raw.clone().unwrap_or_else(|| of(number).row.to_string()))
        .collect();
    Ok(Some(format!(r#"{{"status":200,"data":[{}]}}"#, rows.join(","))))
}

fn database(kept: &[Kept]) -> rusqlite::Result<Connection> {
    let db = Connection::open_in_memory()?;
    db.execute_batch(
        "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, date INTEGER, is_from_me INTEGER, date_read INTEGER,
            date_delivered INTEGER, date_edited INTEGER, date_retracted INTEGER);
         CREATE TABLE chat (ROWID INTEGER PRIMARY KEY);
         CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);
         INSERT INTO chat VALUES (1);",
    )?;
    let time = |row: &Value, name: &str| row[name].as_i64().map_or(0, |at| (at - YEAR_2001) * 1_000_000);
    for Kept { row, .. } in kept {
        let number = row["originalROWID"].as_i64();
        db.execute(
            "INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?, ?, ?, ?)",
            rusqlite::params![
                number,
                time(row, "dateCreated"),
                row["isFromMe"] == true,
                time(row, "dateRead"),
                time(row, "dateDelivered"),
                time(row, "dateEdited"),
                time(row, "dateRetracted")
            ],
        )?;
        for _ in row["chats"].as_array().into_iter().flatten() {
            db.execute("INSERT INTO chat_message_join VALUES (1, ?)", [number])?;
        }
    }
    Ok(db)
}
