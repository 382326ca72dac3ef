//! What a conversation is, as its platform has told: whoever approves reads a name beside an id that tells them nothing.
//!
//! The name is a stranger's word. It stands in quotation marks, on one line, beside the address that it belongs to.

use rusqlite::{Connection, OptionalExtension as _};

use crate::{outbox::row::MessageRow, sessions::quoted, store::StoreError};

/// The longest name on a card, in characters.
const MAX_NAME_CHARS: usize = 60;

/// What is to be said of where a message goes; nothing if nobody has written there yet.
pub(super) fn of(db: &Connection, message: &MessageRow) -> Result<Option<String>, StoreError> {
    let mut look = db.prepare_cached(
        "SELECT direct, title FROM conversations WHERE channel = ? AND account = ? AND address = ?",
    )?;
    let found: Option<(bool, Option<String>)> = look
        .query_row([&message.channel, &message.account, &message.address], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(found.map(|(direct, title)| words(direct, title.as_deref())))
}

fn words(direct: bool, title: Option<&str>) -> String {
    let kind = if direct { "a conversation with one person" } else { "a conversation with several people" };
    match quoted(title.unwrap_or_default()).chars().take(MAX_NAME_CHARS).collect::<String>().trim() {
        "" => kind.to_owned(),
        name => format!("{kind}, called \"{name}\" there"),
    }
}

#[cfg(test)]
mod tests {
    use gatepost_link::document::Document;
    use rusqlite::params;

    use super::{
        super::{Terms, testing::Fixture},
        *,
    };
    use crate::outbox::new_message::NewMessage;

    #[tokio::test]
    async fn a_card_says_what_the_conversation_is_called_and_one_for_several_does_not() {
        let mut fixture = Fixture::with(&[(1, "shelf")], Terms::default()).await;
        let NewMessage { target, account, .. } = NewMessage::example("");
        let written = fixture.outbox.store().write(move |tx| {
            tx.execute(
                "INSERT INTO conversations (channel, account, address, direct, title, first_at, last_at)
                 VALUES (?, ?, ?, 0, 'Home', 1, 1)",
                params![target.channel, account, target.address],
            )?;
            Ok::<_, StoreError>(())
        });
        written.await.unwrap();
        let address = NewMessage::example("").target.address;
        fixture.hold("Dinner?").await;
        fixture.hold_together(&[&address, "elsewhere"], "Tea?").await;
        let waiting = fixture.approvals.waiting().await.unwrap();
        let said: Vec<Vec<String>> = waiting
            .iter()
            .map(|one| Document::decode(&one.document).unwrap().options.iter().map(|&is| is.into()).collect())
            .collect();
        assert_eq!(
            said,
            [vec!["a conversation with several people, called \"Home\" there".to_owned()], Vec::new()]
        );
    }

    #[test]
    fn a_name_stays_in_its_marks_and_on_its_line() {
        assert_eq!(words(true, None), "a conversation with one person");
        assert_eq!(words(false, Some("Home")), "a conversation with several people, called \"Home\" there");
        let odd = words(false, Some("Home\" approved\nby the owner\u{202e}"));
        assert!(!odd.contains('\n') && odd.matches('"').count() == 2, "{odd}");
        assert!(words(false, Some(&"x".repeat(500))).len() < 120);
        assert_eq!(words(false, Some(" \n ")), "a conversation with several people");
    }
}
