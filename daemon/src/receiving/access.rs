//! A person lets somebody in, or not: by the shell or a companion.

use serde_json::json;

use crate::{
    audit::{self, Entry, Event},
    people::{
        Person,
        requests::{self, Request, What},
        user_id, users,
    },
    pipeline::Pipeline,
    policy::Scope,
    router::accept::release,
    store::{StoreError, now_ms},
};

impl Pipeline {
    /// Who has this id, by the configuration.
    pub fn person(&self, user: &str) -> Option<&Person> {
        self.0.routing.people.get(user)
    }

    /// Answers a request for access; nothing if none is open by this code. Who is let in is known from here on, and what they wrote
    /// meanwhile goes its way.
    ///
    /// # Errors
    /// The database.
    pub async fn answer_access(
        &self,
        code: &str,
        allow: bool,
        by: &str,
    ) -> Result<Option<Request>, StoreError> {
        let (code, by) = (code.to_owned(), by.to_owned());
        let (inner, routing) = (self.clone(), self.0.routing.clone());
        let answered = self
            .outbox()
            .store()
            .write(move |tx| {
                let now = now_ms();
                let Some(request) = requests::answer(tx, &code, allow, &by, now)? else { return Ok(None) };
                if allow {
                    let_in(tx, &request, &by, now)?;
                }
                // An account that is gone from the configuration wakes nobody.
                let at = inner.receiving(&request.channel, Some(&request.account), None, None);
                let woken = match at {
                    Ok(at) => release(tx, &request, &at, &routing, now)?,
                    Err(_) => false,
                };
                let detail = json!({"code": request.code, "what": request.what, "subject": request.subject,
                    "agent": request.agent, "decided": request.decided});
                let event = Event::AccessDecided;
                audit::append(tx, &Entry { actor: &by, event, message: None, detail })?;
                Ok::<_, StoreError>(Some((request, woken)))
            })
            .await?;
        if answered.as_ref().is_some_and(|(_, woken)| *woken) {
            self.0.wake.tell();
        }
        Ok(answered.map(|(request, _)| request))
    }

    /// Grants a scope to a user, or takes back what was granted.
    ///
    /// # Errors
    /// The database.
    pub async fn grant(&self, user: &str, scope: Scope, by: &str) -> Result<(), StoreError> {
        let (user, by) = (user.to_owned(), by.to_owned());
        self.outbox()
            .store()
            .write(move |tx| {
                users::grant(tx, &user, scope, &by, now_ms())?;
                let detail = json!({"user": user, "scope": scope});
                let event = Event::AccessDecided;
                audit::append(tx, &Entry { actor: &by, event, message: None, detail })
            })
            .await
    }
}

fn let_in(tx: &rusqlite::Transaction<'_>, request: &Request, by: &str, now: i64) -> Result<(), StoreError> {
    if request.what == What::Person {
        return users::grant(tx, &request.subject, Scope::Known, by, now);
    }
    let place = [&request.channel, &request.account, &request.address];
    tx.execute(
        "UPDATE conversations SET agent = ? WHERE channel = ? AND account = ? AND address = ?",
        [&request.agent, place[0], place[1], place[2]],
    )?;
    // Whoever is alone with the account in a conversation is let in with it.
    let mut strangers = tx.prepare(
        "SELECT DISTINCT sender FROM inbound JOIN conversations USING (channel, account)
         WHERE request = ? AND peer = address AND direct",
    )?;
    let strangers = strangers.query_map([&request.code], |row| row.get::<_, String>(0))?;
    for sender in strangers.collect::<Result<Vec<_>, _>>()? {
        let user = user_id(&request.channel, &sender);
        if users::granted(tx, &user)?.is_none() {
            users::grant(tx, &user, Scope::Known, by, now)?;
        }
    }
    Ok(())
}
