//! A person lets somebody in, or not: by the shell or a companion.

use rusqlite::{Connection, Transaction};
use serde_json::json;

use super::cards;
use crate::{
    audit::{self, Entry, Event},
    outbox::transition::TransitionError,
    people::{
        Person,
        requests::{self, Request, What},
        user_id, users,
    },
    pipeline::Pipeline,
    policy::Scope,
    router::waiting::release,
    store::{StoreError, now_ms},
    turns::trust,
};

/// What came of answering.
struct Answered {
    request: Option<Request>,
    /// Whether a turn waits that did not before.
    woken: bool,
    /// The card that is withdrawn.
    card: Option<i64>,
}

impl Pipeline {
    /// Whether somebody was shut out: nothing that they write is read.
    ///
    /// # Errors
    /// The database.
    pub fn has_shut_out(&self, channel: &str, sender: Option<&str>) -> Result<bool, StoreError> {
        let Some(sender) = sender else { return Ok(false) };
        Ok(self.said_of(&user_id(channel, sender))? == Some(Scope::Blocked))
    }

    /// How far somebody with this id is trusted; nothing if nobody has said so.
    pub(super) fn said_of(&self, user: &str) -> Result<Option<Scope>, StoreError> {
        let people = &self.0.routing.people;
        self.outbox().store().look(|db| users::trusted(db, people, user))
    }

    /// Who has this id, by the configuration.
    pub fn person(&self, user: &str) -> Option<&Person> {
        self.0.routing.people.get(user)
    }

    /// Answers a request for access; nothing if none is open by this code. Who is let in is known from here on, and what they wrote
    /// meanwhile goes its way. A card that still asks is withdrawn; what was pressed on one counts first.
    ///
    /// # Errors
    /// The database.
    pub async fn answer_access(
        &self,
        code: &str,
        allow: bool,
        by: &str,
    ) -> Result<Option<Request>, TransitionError> {
        let (code, by) = (code.to_owned(), by.to_owned());
        let pipeline = self.clone();
        let answered = self.outbox().store().write(move |tx| pipeline.answer_in(tx, &code, allow, &by));
        let Answered { request, woken, card } = answered.await?;
        if woken {
            self.0.wake.tell();
        }
        if let Some(card) = card {
            self.outbox().changed(card);
        }
        Ok(request)
    }

    fn answer_in(
        &self,
        tx: &Transaction<'_>,
        code: &str,
        allow: bool,
        by: &str,
    ) -> Result<Answered, TransitionError> {
        let now = now_ms();
        let nothing = Answered { request: None, woken: false, card: None };
        if cards::is_pressed(tx, code)? {
            return Ok(nothing);
        }
        let Some(request) = requests::decide(tx, code, allow, by, now)? else { return Ok(nothing) };
        let woken = self.let_go(tx, &request, now)?;
        Ok(Answered { request: Some(request), woken, card: cards::withdraw(tx, code, by)? })
    }

    /// Lets what waited with an answered request go its way, or go. Whether it woke an agent.
    pub(super) fn let_go(
        &self,
        tx: &Transaction<'_>,
        request: &Request,
        now: i64,
    ) -> Result<bool, StoreError> {
        let receiving = |channel: &str, account: &str| self.receiving(channel, Some(account), None).ok();
        release(tx, request, receiving, &self.0.routing, now)
    }

    /// Grants a scope to a user, or takes back what was granted. An open request about them is answered by that.
    ///
    /// # Errors
    /// The database.
    pub async fn grant(&self, user: &str, scope: Scope, by: &str) -> Result<(), TransitionError> {
        let (user, by) = (user.to_owned(), by.to_owned());
        let pipeline = self.clone();
        let granted = self.outbox().store().write(move |tx| {
            users::grant(tx, &user, scope, &by, now_ms())?;
            let detail = json!({"user": user, "scope": scope});
            let event = Event::AccessDecided;
            audit::append(tx, &Entry { actor: &by, event, message: None, detail })?;
            let mut settled = vec![];
            for code in pipeline.said_since(tx)? {
                settled.push(pipeline.settle_request(tx, &code, &by)?);
            }
            Ok::<_, TransitionError>(settled)
        });
        self.tell_settled(granted.await?);
        Ok(())
    }

    /// The open requests about people of whom somebody has said since then how far they are trusted: by a grant, or in the configuration.
    pub(super) fn said_since(&self, db: &Connection) -> Result<Vec<String>, StoreError> {
        let mut codes = vec![];
        for request in requests::list(db, true, now_ms(), cards::MOST)? {
            if self.trusted_since(db, &request)?.is_some() {
                codes.push(request.code);
            }
        }
        Ok(codes)
    }

    /// How far somebody is trusted by now about whom a request asks; nothing if nobody has said.
    pub(super) fn trusted_since(
        &self,
        db: &Connection,
        request: &Request,
    ) -> Result<Option<Scope>, StoreError> {
        match request.what {
            What::Person => trust::of_request(db, &self.0.routing.people, &request.code, &request.subject),
            What::Conversation => Ok(None),
        }
    }
}
