//! Sessions of the protocol: each costs memory until it has been idle for some minutes, so one caller has a bounded number, and the
//! oldest ends for a new one.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use rmcp::transport::streamable_http_server::session::{
    SessionId, SessionManager as _, local::LocalSessionManager,
};
use tokio::sync::Mutex;

/// Sessions that one caller has at once.
const MAX_SESSIONS: usize = 16;

/// Whose sessions there are.
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    /// By caller, the oldest first.
    by: Mutex<HashMap<String, VecDeque<SessionId>>>,
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { manager, by: Mutex::default() }
    }

    /// A session has begun; another of this caller may have to end for it.
    pub(super) async fn begun(&self, caller: &str, id: &str) {
        let mut by = self.by.lock().await;
        let own = by.entry(caller.to_owned()).or_default();
        own.push_back(id.into());
        let there = self.manager.sessions.read().await;
        own.retain(|id| there.contains_key(id));
        drop(there);
        while own.len() > MAX_SESSIONS {
            let Some(oldest) = own.pop_front() else { break };
            tracing::info!(
                caller,
                most = MAX_SESSIONS,
                "the oldest MCP session of a caller ends: it has too many"
            );
            if let Err(error) = self.manager.close_session(&oldest).await {
                tracing::debug!(%error, "the session had ended");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn begin(sessions: &Sessions, caller: &str) -> SessionId {
        let (id, transport) = sessions.manager.create_session().await.unwrap();
        // It lives as long as its session here.
        std::mem::forget(transport);
        sessions.begun(caller, &id).await;
        id
    }

    #[tokio::test]
    async fn a_caller_who_begins_many_sessions_keeps_the_newest_and_others_keep_theirs() {
        let sessions = Sessions::new(Arc::default());
        let other = begin(&sessions, "agent:b").await;
        let mut own = Vec::new();
        for _ in 0..3 * MAX_SESSIONS {
            own.push(begin(&sessions, "agent:a").await);
        }
        let there = sessions.manager.sessions.read().await;
        assert_eq!(there.len(), MAX_SESSIONS + 1);
        assert!(
            there.contains_key(&other) && own[2 * MAX_SESSIONS..].iter().all(|id| there.contains_key(id))
        );
    }

    #[tokio::test]
    async fn sessions_that_have_ended_count_no_more() {
        let sessions = Sessions::new(Arc::default());
        let long = begin(&sessions, "agent:a").await;
        for _ in 0..3 * MAX_SESSIONS {
            let short = begin(&sessions, "agent:a").await;
            sessions.manager.close_session(&short).await.unwrap();
        }
        assert!(sessions.manager.has_session(&long).await.unwrap());
    }
}
