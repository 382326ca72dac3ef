//! Messages that fit what somebody looks for, newest first.
//!
//! A search reads rows from the newest back until it has enough of them, or has read for [`LONGEST`]: it is a look and no job, whatever
//! there is. What it did not come to is behind its cursor. Messages that are under way are found by their index, however old they are.

use std::time::Duration;

use rusqlite::{Connection, Row};

use super::{
    Outbox,
    queries::{FOUND, FOUND_LIVE, FOUND_OF_AGENT},
    row::MessageRow,
};
use crate::{
    message::state::State,
    store::{StoreError, look::Look},
};

/// How long one search reads.
const LONGEST: Duration = Duration::from_millis(250);

/// What is looked for. Everything that is given must fit.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Whose.
    pub agent: Option<String>,
    /// In one of these states; in any, if there is none.
    pub states: Vec<State>,
    /// To this channel.
    pub channel: Option<String>,
    /// With this in its text, its address, the address book's name of that or its id, whatever the case.
    pub text: Option<String>,
    /// Accepted before the message with this number.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The messages.
    pub rows: Vec<MessageRow>,
    /// Where to look on, if there may be more.
    pub next: Option<i64>,
}

impl Search {
    fn is_live(&self) -> bool {
        !self.states.is_empty() && self.states.iter().all(|state| !state.is_final())
    }

    /// Whether a row fits. Its columns are those of [`FOUND`].
    fn fits(&self, row: &Row<'_>, wanted: Option<&str>) -> rusqlite::Result<bool> {
        let state: State = row.get(1)?;
        if !self.states.is_empty() && !self.states.contains(&state) {
            return Ok(false);
        }
        if let Some(agent) = &self.agent
            && row.get_ref(2)?.as_str()? != agent
        {
            return Ok(false);
        }
        if let Some(channel) = &self.channel
            && row.get_ref(3)?.as_str()? != channel
        {
            return Ok(false);
        }
        let Some(wanted) = wanted else { return Ok(true) };
        for column in 4..=8 {
            if let Some(text) = row.get_ref(column)?.as_str_or_null()?
                && contains(text, wanted)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a text has another in it that is in lower case.
fn contains(text: &str, wanted: &str) -> bool {
    match text.is_ascii() && wanted.is_ascii() {
        true => {
            let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
            wanted.is_empty() || text.windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted))
        }
        false => text.to_lowercase().contains(wanted),
    }
}

impl Outbox {
    /// Looks for messages.
    ///
    /// # Errors
    /// The database.
    pub async fn search(&self, search: Search) -> Result<Found, StoreError> {
        self.store.read(move |db| found(db, &search, LONGEST)).await
    }
}

fn found(db: &Connection, search: &Search, longest: Duration) -> Result<Found, StoreError> {
    let sql = match (search.is_live(), &search.agent) {
        (true, _) => FOUND_LIVE,
        (false, Some(_)) => FOUND_OF_AGENT,
        (false, None) => FOUND,
    };
    let wanted = search.text.as_deref().map(str::to_lowercase);
    let (before, mut look) = (search.before.unwrap_or(i64::MAX), Look::of(longest));
    let mut rows = db.prepare_cached(sql)?;
    let mut rows = match sql {
        FOUND_OF_AGENT => rows.query(rusqlite::params![before, search.agent])?,
        _ => rows.query([before])?,
    };
    let (mut fit, mut next) = (Vec::<i64>::new(), None);
    while let Some(row) = rows.next()? {
        let seq = row.get(0)?;
        if search.fits(row, wanted.as_deref())? {
            if fit.len() == search.limit {
                next = fit.last().copied();
                break;
            }
            fit.push(seq);
        }
        if look.is_over() {
            next = Some(seq);
            break;
        }
    }
    let rows = fit.into_iter().map(|seq| MessageRow::get(db, seq)).collect::<Result<_, _>>()?;
    Ok(Found { rows, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        message::state::{Actor, Event},
        outbox::{
            new_message::NewMessage,
            transition::{self, Change},
        },
        store::Store,
    };

    struct Fixture {
        _directory: tempfile::TempDir,
        outbox: Outbox,
    }

    impl Fixture {
        /// Messages of these texts, in their order.
        async fn with(texts: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let outbox = Outbox::new(Store::open(directory.path()).unwrap());
            for &text in texts {
                outbox.accept(NewMessage::example(text)).await.unwrap();
            }
            Self { _directory: directory, outbox }
        }

        async fn texts(&self, search: Search) -> (Vec<String>, Option<i64>) {
            let found = self.outbox.search(search).await.unwrap();
            (found.rows.into_iter().map(|row| row.text).collect(), found.next)
        }
    }

    fn any() -> Search {
        Search { limit: 50, ..Search::default() }
    }

    fn with(text: &str) -> Search {
        Search { text: Some(text.into()), ..any() }
    }

    #[tokio::test]
    async fn a_text_is_found_whatever_its_case_and_in_what_else_is_shown() {
        let fixture = Fixture::with(&["Milk, ÖL and 100 % oats", "deploy", "Straße"]).await;
        for (wanted, found) in
            [("milk", 1), ("öl", 1), ("100 %", 1), ("_eploy", 0), ("STRASSE", 0), ("straße", 1)]
        {
            assert_eq!(fixture.texts(with(wanted)).await.0.len(), found, "{wanted}");
        }
        let row = fixture.outbox.search(with("deploy")).await.unwrap().rows.remove(0);
        assert_eq!(fixture.texts(with(&row.id.to_uppercase())).await.0, ["deploy"]);
        assert_eq!(fixture.texts(with(&row.address)).await.0.len(), 3);
        assert_eq!(fixture.texts(Search { agent: Some("nobody".into()), ..any() }).await.0.len(), 0);
        assert_eq!(fixture.texts(Search { channel: Some("email".into()), ..any() }).await.0.len(), 0);
        let channel = Some(row.channel.clone());
        assert_eq!(fixture.texts(Search { channel, agent: Some(row.agent), ..any() }).await.0.len(), 3);
    }

    #[tokio::test]
    async fn a_cursor_goes_on_where_the_page_ended_and_is_none_at_the_end() {
        let fixture = Fixture::with(&["1", "2", "3", "4", "5"]).await;
        let two = |before| Search { limit: 2, before, ..any() };
        let (first, next) = fixture.texts(two(None)).await;
        assert_eq!((first, next), (vec!["5".to_owned(), "4".to_owned()], Some(4)));
        // What comes meanwhile moves nothing.
        fixture.outbox.accept(NewMessage::example("6")).await.unwrap();
        let (second, next) = fixture.texts(two(next)).await;
        assert_eq!((second, next), (vec!["3".to_owned(), "2".to_owned()], Some(2)));
        assert_eq!(fixture.texts(two(next)).await, (vec!["1".to_owned()], None));
        let exact = Search { limit: 6, ..any() };
        assert_eq!(fixture.texts(exact).await.1, None, "nothing follows");
    }

    #[tokio::test]
    async fn states_are_any_of_those_that_are_named() {
        let fixture = Fixture::with(&["1", "2", "3"]).await;
        let change = Change {
            event: Event::Cancel,
            actor: Actor::Operator,
            by: "test",
            code: None,
            reason: None,
            facts: None,
        };
        fixture.outbox.change(2, move |tx| transition::apply(tx, 2, &change)).await.unwrap();
        let of = |states: &[State]| Search { states: states.to_vec(), ..any() };
        assert_eq!(fixture.texts(of(&[State::Accepted])).await.0, ["3", "1"]);
        assert_eq!(fixture.texts(of(&[State::Cancelled])).await.0, ["2"]);
        assert_eq!(fixture.texts(of(&[State::Cancelled, State::Accepted])).await.0, ["3", "2", "1"]);
        assert_eq!(fixture.texts(of(&[State::Sent, State::Held])).await.0, [""; 0]);
    }

    #[tokio::test]
    async fn a_search_that_takes_too_long_ends_and_says_where_to_go_on() {
        let texts: Vec<String> = (0..1_500).map(|n| format!("text {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let fixture = Fixture::with(&texts).await;
        let (mut search, mut all, mut rounds) = (with("text 0"), vec![], 0);
        loop {
            let once = search.clone();
            let read = move |db: &Connection| found(db, &once, Duration::ZERO);
            let found = fixture.outbox.store().read(read).await.unwrap();
            all.extend(found.rows.into_iter().map(|row| row.text));
            (search.before, rounds) = (found.next, rounds + 1);
            if found.next.is_none() {
                break;
            }
        }
        assert_eq!((all, rounds), (vec!["text 0".to_owned()], 3));
    }
}
