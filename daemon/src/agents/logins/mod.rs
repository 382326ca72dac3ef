//! Logins: an operator in a browser.
//!
//! A login is 256 random bits in a cookie, of which the hub keeps the SHA-256. It begins by the right of an operator's token and has no
//! right of its own: every call looks up that the token still stands. It ends when somebody ends it, with its token, after
//! [`IDLE_MS`] in which nobody used it, and with a restored backup. Beginning and end are rows of the audit.
//!
//! [`codes`] are the links by which one begins without the token, [`attempts`] bounds guessing, [`browser`] names what asked.

pub mod attempts;
mod browser;
pub mod codes;
pub mod stamps;

use rusqlite::{OptionalExtension as _, Transaction, named_params, params};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

pub use self::browser::in_words;
use super::{Caller, Role, hash};
use crate::{
    audit::{self, Entry, Event},
    clock::Time,
    message::target::HUB,
    store::{Store, StoreError, now_ms},
};

/// A login that nobody used for so long is over. Milliseconds.
pub const IDLE_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// How exactly the hub remembers when a login was used last. Milliseconds: each time is a write to the disk.
const SEEN_MS: i64 = 5 * 60 * 1000;
/// Logins at once. For one more, that goes which was not used for longest.
const MAX_LOGINS: i64 = 64;

/// The hash of an operator's token, by whose right something is done.
pub type TokenHash = [u8; 32];

/// How somebody signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// By a link of `gatepost open`.
    Code,
    /// By the token itself.
    Token,
    /// By a passkey.
    Passkey,
}

impl Way {
    const fn word(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Token => "token",
            Self::Passkey => "passkey",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Code, Self::Token, Self::Passkey].into_iter().find(|way| way.word() == word)
    }
}

/// Where somebody signs in.
#[derive(Debug, Clone)]
pub struct Client {
    /// The browser in words.
    pub browser: String,
    /// The address that it comes from.
    pub from: String,
}

/// A login that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Its id, which is no secret.
    pub id: String,
    /// How it began.
    pub way: Way,
    /// Whose it is.
    pub caller: Caller,
    /// By whose right.
    pub token: TokenHash,
    /// When it was used last, in milliseconds since 1970.
    seen_at: i64,
}

impl Login {
    /// Whether it is time to write down that it is used.
    pub fn is_stale(&self) -> bool {
        now_ms() - self.seen_at >= SEEN_MS
    }
}

/// A login as listed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OpenLogin)]
pub struct Listed {
    /// Its id; never the cookie.
    pub login: String,
    /// Whose: the operator's token by whose right it is.
    pub name: String,
    /// How it began.
    pub way: Way,
    /// The browser in words, such as `Firefox on Linux`.
    #[schema(max_length = 60)]
    pub browser: String,
    /// The address that it came from last.
    pub from: String,
    /// When it began (RFC 3339).
    #[schema(value_type = String)]
    pub began_at: Time,
    /// When it was used last, to some minutes (RFC 3339).
    #[schema(value_type = String)]
    pub seen_at: Time,
    /// When it ends if nobody uses it before (RFC 3339).
    #[schema(value_type = String)]
    pub expires_at: Time,
}

/// Why a login ended, as the audit has it.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// Its holder signed out, or signed in anew.
    SignedOut,
    /// An operator ended it.
    Ended,
    /// Its token was revoked.
    Revoked,
    /// Nobody used it.
    Idle,
    /// There were too many.
    TooMany,
}

impl End {
    const fn word(self) -> &'static str {
        match self {
            Self::SignedOut => "signed out",
            Self::Ended => "ended",
            Self::Revoked => "token revoked",
            Self::Idle => "not used",
            Self::TooMany => "too many logins",
        }
    }
}

/// Begins a login by the right of an operator's token: its id, and the secret of the cookie, seen this one time. Nothing if the token
/// does not stand.
pub async fn begin(
    store: &Store,
    token: TokenHash,
    way: Way,
    client: Client,
) -> Result<Option<(String, String)>, StoreError> {
    let (id, secret) = (crate::random::hex::<8>(), crate::random::hex::<32>());
    let hash = hash(&secret);
    let begun = store.write(move |tx| {
        let sql = "SELECT name FROM tokens WHERE hash = ? AND role = 'operator' AND revoked_at IS NULL AND name <> ?";
        let name = tx.query_row(sql, params![token, HUB], |row| row.get::<_, String>(0)).optional()?;
        let Some(name) = name else { return Ok::<_, StoreError>(None) };
        make_room(tx)?;
        let now = now_ms();
        tx.execute(
            "INSERT INTO logins (hash, id, token, way, browser, came_from, began_at, seen_at)
                VALUES (:hash, :id, :token, :way, :browser, :from, :now, :now)",
            named_params! {
                ":hash": hash, ":id": id, ":token": token, ":way": way.word(), ":browser": client.browser, ":from": client.from,
                ":now": now,
            },
        )?;
        let detail = json!({"login": id, "way": way, "browser": client.browser, "from": client.from});
        let actor = Caller { name, role: Role::Operator }.to_string();
        audit::append(tx, &Entry { actor: &actor, event: Event::LoginBegan, message: None, detail })?;
        Ok(Some(id))
    });
    Ok(begun.await?.map(|id| (id, secret)))
}

/// The login with this secret, if it stands.
pub fn find(store: &Store, secret: &str) -> Result<Option<Login>, StoreError> {
    const SQL: &str = "SELECT logins.id, logins.way, tokens.name, tokens.hash, logins.seen_at
        FROM logins JOIN tokens ON tokens.hash = logins.token
        WHERE logins.hash = ? AND logins.seen_at > ? AND tokens.role = 'operator' AND tokens.revoked_at IS NULL AND tokens.name <> ?";
    // Looked up by hash, as tokens are.
    store.look(|db| {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Login {
                id: row.get(0)?,
                way: way(row, 1)?,
                caller: Caller { name: row.get(2)?, role: Role::Operator },
                token: row.get(3)?,
                seen_at: row.get(4)?,
            })
        };
        let since = now_ms() - IDLE_MS;
        Ok(db.prepare_cached(SQL)?.query_row(params![hash(secret), since, HUB], read).optional()?)
    })
}

/// Writes down that a login is used, and from where.
pub async fn seen(store: &Store, id: &str, from: &str) -> Result<(), StoreError> {
    let (id, from) = (id.to_owned(), from.to_owned());
    store
        .write(move |tx| {
            tx.execute(
                "UPDATE logins SET seen_at = ?, came_from = ? WHERE id = ?",
                params![now_ms(), from, id],
            )?;
            Ok(())
        })
        .await
}

/// The logins that stand, the one used last first.
pub async fn list(store: &Store) -> Result<Vec<Listed>, StoreError> {
    const SQL: &str = "SELECT logins.id, tokens.name, logins.way, logins.browser, logins.came_from, logins.began_at, logins.seen_at
        FROM logins JOIN tokens ON tokens.hash = logins.token
        WHERE logins.seen_at > ? AND tokens.revoked_at IS NULL ORDER BY logins.seen_at DESC, logins.began_at DESC";
    store
        .read(|db| {
            let mut rows = db.prepare(SQL)?;
            let rows = rows.query_map([now_ms() - IDLE_MS], |row| {
                let seen: i64 = row.get(6)?;
                Ok(Listed {
                    login: row.get(0)?,
                    name: row.get(1)?,
                    way: way(row, 2)?,
                    browser: row.get(3)?,
                    from: row.get(4)?,
                    began_at: Time(row.get(5)?),
                    seen_at: Time(seen),
                    expires_at: Time(seen.saturating_add(IDLE_MS)),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
}

/// Ends a login; whether there was one.
pub async fn end(store: &Store, id: &str, why: End, by: &str) -> Result<bool, StoreError> {
    let (id, by) = (id.to_owned(), by.to_owned());
    store.write(move |tx| end_in(tx, "id = ?", &[&id], why, &by)).await.map(|ended| ended > 0)
}

/// Ends those whose token is revoked, in the transaction that revokes it.
pub(super) fn end_revoked(tx: &Transaction<'_>, name: &str, by: &str) -> Result<(), StoreError> {
    let whose = "token IN (SELECT hash FROM tokens WHERE name = ? AND revoked_at IS NOT NULL)";
    end_in(tx, whose, &[&name], End::Revoked, by).map(drop)
}

/// Ends what nobody uses, and makes room for one more.
fn make_room(tx: &Transaction<'_>) -> Result<(), StoreError> {
    end_in(tx, "seen_at <= ?", &[&(now_ms() - IDLE_MS)], End::Idle, HUB)?;
    let oldest = "id IN (SELECT id FROM logins ORDER BY seen_at DESC LIMIT -1 OFFSET ?)";
    end_in(tx, oldest, &[&(MAX_LOGINS - 1)], End::TooMany, HUB)?;
    Ok(())
}

/// Ends those for which `which` holds; how many there were.
fn end_in(
    tx: &Transaction<'_>,
    which: &str,
    given: &[&dyn rusqlite::ToSql],
    why: End,
    by: &str,
) -> Result<usize, StoreError> {
    let mut rows = tx.prepare(&format!("DELETE FROM logins WHERE {which} RETURNING id"))?;
    let ended: Vec<String> = rows.query_map(given, |row| row.get(0))?.collect::<Result<_, _>>()?;
    for login in &ended {
        let detail = json!({"login": login, "why": why.word()});
        audit::append(tx, &Entry { actor: by, event: Event::LoginEnded, message: None, detail })?;
    }
    Ok(ended.len())
}

fn way(row: &rusqlite::Row<'_>, column: usize) -> Result<Way, rusqlite::Error> {
    Way::from_word(row.get_ref(column)?.as_str()?)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(column, "way".into(), rusqlite::types::Type::Text))
}

#[cfg(test)]
mod tests;
