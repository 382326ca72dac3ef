//! The questions for rows, at `message/query` (`MessageRouter.query`, `packages/server/src/server/api/http/api/v1/routers/messageRouter.ts`
//! at 172b95f, lines 116 to 237). They change nothing.
//!
//! The server orders by a message's time and by nothing else, and who writes chooses that. So a condition of ours (`where`, which it
//! hands to its database: `MessageRepository.getMessages`, `databases/imessage/index.ts` at 1cf97bd) names the rows: the next by number.
//! Only rows with a conversation count, for it hands over no other, and a page of others would look like the end.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    super::source::{Mark, Page, Row, Sent, Since, Source},
    Rows, files, row,
};
use crate::{
    channels::{Failure, hub_handle::HubHandle, imessage::api::Told, kit::json::taken},
    message::attachment::Attachment,
};

/// Rows that are asked for at a time, and the most bytes of such an answer. Where they are too much together, or the server fails over
/// them, they are asked for one by one, with a bound of its own.
const PAGE: usize = 20;
const MOST_OF_PAGE: usize = 512 * 1024;
const MOST_OF_ONE: usize = 1024 * 1024;
/// Rows at the end that nobody can read, past which the newest is looked for.
const MOST_UNREADABLE: usize = 40;
/// Changed rows that are looked at.
const MOST_CHANGED: usize = 500;
/// How long after it was sent a message may be edited or read, in milliseconds. It keeps the question to the part of the database that
/// is ordered by time; Apple allows edits for 15 minutes (<https://support.apple.com/guide/messages/icht504cf0b3/mac>).
const EDITABLE: i64 = 24 * 60 * 60 * 1000;
const READABLE: i64 = 7 * EDITABLE;
/// The first moment of 2001, in milliseconds since 1970: the database counts nanoseconds from there (`helpers/dateUtil.ts` at 81f8533).
const YEAR_2001: i64 = 978_307_200_000;

/// Rows by their numbers, next to each other.
const NEXT: &str = "message.ROWID IN (SELECT j.message_id FROM chat_message_join j JOIN chat c ON c.ROWID = j.chat_id \
    JOIN message m ON m.ROWID = j.message_id WHERE j.message_id > :row GROUP BY j.message_id ORDER BY j.message_id \
    LIMIT :most OFFSET :passed)";
const NEWEST: &str = "message.ROWID IN (SELECT j.message_id FROM chat_message_join j JOIN chat c ON c.ROWID = j.chat_id \
    JOIN message m ON m.ROWID = j.message_id GROUP BY j.message_id ORDER BY j.message_id DESC LIMIT 1 OFFSET :passed)";
const WRITTEN: &str = "message.date <= :now";
const SEEN: &str =
    "(message.is_from_me = 1 AND (message.date_read >= :seen OR message.date_delivered >= :seen))";
/// These columns are in macOS 13 and later (`entity/Message.ts` at 08604a3).
const EDITED: &str = "(message.date_edited >= :edited OR message.date_retracted >= :edited)";

/// As the database has a time.
fn apples(at: i64) -> i64 {
    at.saturating_sub(YEAR_2001).max(0).saturating_mul(1_000_000)
}

/// A question for rows that a condition names.
fn query(statement: &str, args: &Value, limit: usize) -> Value {
    json!({
        "with": ["chat", "attachment"], "sort": "ASC", "limit": limit, "offset": 0,
        "where": [{ "statement": statement, "args": args }],
    })
}

/// What a question for rows was answered.
enum Answer<T> {
    Rows(Vec<T>),
    /// What people wrote makes it unreadable.
    Unreadable,
    /// The server failed over it.
    Failed(Failure),
}

impl Rows<'_> {
    async fn rows(&self, query: &Value, most: usize) -> Result<Answer<Value>, Failure> {
        Ok(match self.server.api.ask_for_words(&["message", "query"], query, most).await? {
            Told::Unreadable => Answer::Unreadable,
            Told::Failed(failure) => Answer::Failed(failure),
            Told::Words(mut answer) => match taken(&mut answer, "data") {
                Value::Array(rows) => Answer::Rows(rows),
                _ => return Err(Failure::Retry("what answers has no messages; check url".into())),
            },
        })
    }

    async fn next(&self, mark: Mark, limit: usize, most: usize) -> Result<Answer<Row>, Failure> {
        let args = json!({ "row": mark.row, "most": limit, "passed": mark.passed });
        Ok(match self.rows(&query(NEXT, &args, limit), most).await? {
            Answer::Rows(rows) => Answer::Rows(self.read(&rows).await),
            Answer::Unreadable => Answer::Unreadable,
            Answer::Failed(failure) => Answer::Failed(failure),
        })
    }

    /// The rows behind a place, one by one; those that are read before the server fails over one.
    async fn each(&self, mark: Mark) -> Result<Page, Failure> {
        let mut page = Page { rows: Vec::new(), next: mark, more: true };
        for _ in 0..PAGE {
            let at = page.next;
            match self.next(at, 1, MOST_OF_ONE).await? {
                Answer::Rows(rows) if rows.is_empty() => {
                    page.more = false;
                    break;
                }
                Answer::Rows(rows) => {
                    page.next = rows.iter().map(|row| row.mark).fold(page.next, Mark::max);
                    page.rows.extend(rows);
                }
                Answer::Unreadable => page.pass(),
                Answer::Failed(failure) => {
                    let is_first = page.rows.is_empty();
                    let mut failing = self.failing.lock().await;
                    // What was read is written down before anything is waited for.
                    if !is_first && !failing.goes_on() {
                        break;
                    }
                    let is_hopeless = failing.is_hopeless(at);
                    drop(failing);
                    if !is_hopeless || !self.has_others(at).await? {
                        match is_first {
                            true => return Err(failure),
                            false => break,
                        }
                    }
                    // Meanwhile it may be well.
                    if matches!(self.next(at, 1, MOST_OF_ONE).await?, Answer::Failed(_)) {
                        self.failing.lock().await.gave_up();
                        page.pass();
                    }
                }
            }
        }
        Ok(page)
    }

    /// Whether the server hands over other rows than the one behind a place: the last before it, or one of those that follow.
    async fn has_others(&self, mark: Mark) -> Result<bool, Failure> {
        let before = Mark::behind(mark.row.saturating_sub(1));
        let behind = (1..=PAGE).map(|passed| Mark { passed: mark.passed + passed, ..mark });
        for other in std::iter::once(before).chain(behind) {
            match self.next(other, 1, MOST_OF_ONE).await? {
                Answer::Rows(rows) if rows.is_empty() => return Ok(false),
                Answer::Rows(_) | Answer::Unreadable => return Ok(true),
                Answer::Failed(_) => {}
            }
        }
        Ok(false)
    }

    /// Reads rows, in the order of their numbers.
    async fn read(&self, rows: &[Value]) -> Vec<Row> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut facts = self.known.facts().await;
        facts.learn(&self.server.api, rows).await;
        let mut read: Vec<Row> = rows.iter().map(|one| row::read(one, &facts)).collect();
        read.sort_by_key(|row| row.mark);
        read
    }

    /// A page of changed rows, or what can be read of it.
    async fn changed_page(&self, query: &mut Value, offset: usize) -> Result<Vec<Row>, Failure> {
        (query["offset"], query["limit"]) = (json!(offset), json!(PAGE));
        if let Answer::Rows(rows) = self.rows(query, MOST_OF_PAGE).await? {
            return Ok(self.read(&rows).await);
        }
        let (mut each, mut failed, mut answers) = (Vec::new(), None, false);
        query["limit"] = json!(1);
        for one in offset..offset + PAGE {
            query["offset"] = json!(one);
            match self.rows(query, MOST_OF_ONE).await? {
                Answer::Rows(rows) if rows.is_empty() => return Ok(each),
                Answer::Rows(rows) => {
                    answers = true;
                    each.extend(self.read(&rows).await);
                }
                Answer::Unreadable => {
                    answers = true;
                    each.push(Row::default());
                }
                Answer::Failed(failure) => {
                    failed = Some(failure);
                    each.push(Row::default());
                }
            }
        }
        // It is asked for again, for as long as what was changed is looked at.
        match failed.filter(|_| !answers) {
            Some(failure) => Err(failure),
            None => Ok(each),
        }
    }
}

#[async_trait]
impl Source for Rows<'_> {
    async fn newest(&self) -> Result<i64, Failure> {
        let mut failed = None;
        for passed in 0..MOST_UNREADABLE {
            let query = query(NEWEST, &json!({ "passed": passed }), 1);
            match self.rows(&query, MOST_OF_ONE).await? {
                // There is no other than those over which it fails: it may be ill.
                Answer::Rows(rows) if rows.is_empty() && failed.is_some() => break,
                Answer::Rows(rows) => {
                    return Ok(rows.first().and_then(|row| row["originalROWID"].as_i64()).unwrap_or(0));
                }
                Answer::Unreadable => {}
                Answer::Failed(failure) => failed = Some(failure),
            }
        }
        let none = || Failure::Retry("the newest messages on the Mac cannot be read".into());
        Err(failed.unwrap_or_else(none))
    }

    async fn latest(&self, now: i64) -> Result<Option<i64>, Failure> {
        let mut query = query(WRITTEN, &json!({ "now": apples(now) }), 1);
        query["sort"] = json!("DESC");
        Ok(match self.rows(&query, MOST_OF_ONE).await? {
            Answer::Rows(rows) => rows.first().and_then(|row| row["dateCreated"].as_i64()),
            Answer::Unreadable | Answer::Failed(_) => None,
        })
    }

    async fn behind(&self, mark: Mark) -> Result<Page, Failure> {
        let Answer::Rows(rows) = self.next(mark, PAGE, MOST_OF_PAGE).await? else {
            return self.each(mark).await;
        };
        self.failing.lock().await.is_well();
        let more = rows.len() >= PAGE;
        let next = rows.iter().map(|row| row.mark).max().unwrap_or(mark);
        Ok(Page { rows, next, more })
    }

    async fn changed(&self, since: Since) -> Result<Vec<Row>, Failure> {
        let edits = self.known.facts().await.has_edits();
        let (statement, after) = match edits {
            true => (format!("({SEEN} OR {EDITED})"), (since.seen - READABLE).min(since.edited - EDITABLE)),
            false => (SEEN.to_owned(), since.seen - READABLE),
        };
        let args = match edits {
            true => json!({ "seen": apples(since.seen), "edited": apples(since.edited) }),
            false => json!({ "seen": apples(since.seen) }),
        };
        let mut query = query(&statement, &args, PAGE);
        query["after"] = json!(after.max(0));
        let mut changed = Vec::new();
        for page in 0..MOST_CHANGED / PAGE {
            let rows = self.changed_page(&mut query, page * PAGE).await?;
            let is_last = rows.len() < PAGE;
            changed.extend(rows);
            if is_last {
                return Ok(changed);
            }
        }
        tracing::warn!("more messages were edited than are looked at: {MOST_CHANGED}");
        Ok(changed)
    }

    async fn keep(
        &self,
        hub: &dyn HubHandle,
        sent: &Sent,
        until: Instant,
        pause: Duration,
    ) -> Result<Attachment, String> {
        files::keep(&self.server.api, hub, sent, until, pause).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_apples() {
        // 1 March 2026, noon.
        assert_eq!(apples(1_772_366_400_000), 794_059_200_000_000_000);
        assert_eq!((apples(0), apples(i64::MAX), apples(i64::MIN)), (0, i64::MAX, 0));
    }
}
