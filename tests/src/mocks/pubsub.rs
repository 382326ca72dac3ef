//! Cloud Pub/Sub: a topic and its one subscription, which is pulled
//! (<https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>). What is not acknowledged in time is told again,
//! to whoever pulls next.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{MockServer, googlechat};

/// The subscription.
pub const SUBSCRIPTION: &str = "projects/house/subscriptions/gatepost";
/// For so long a pull waits, and something that is not acknowledged is not told again.
const WAITS: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(1);

/// Something that was published.
struct Published {
    event: Value,
    delivered: Option<Instant>,
    times: usize,
    acknowledged: bool,
}

/// A topic and its one subscription.
#[derive(Clone, Default)]
pub struct Topic(Arc<Mutex<Vec<Published>>>);

impl Topic {
    fn with<T>(&self, does: impl FnOnce(&mut Vec<Published>) -> T) -> T {
        does(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Publishes it.
    pub fn publish(&self, event: Value) {
        self.with(|all| all.push(Published { event, delivered: None, times: 0, acknowledged: false }));
    }

    /// How often each was told, and whether it was acknowledged.
    pub fn told(&self) -> Vec<(usize, bool)> {
        self.with(|all| all.iter().map(|one| (one.times, one.acknowledged)).collect())
    }

    /// Waits until there is something, and tells `most` of it.
    fn pull(&self, most: usize) -> Value {
        let until = Instant::now() + WAITS;
        loop {
            let received = self.with(|all| {
                let due = |one: &Published| one.delivered.is_none_or(|at| at.elapsed() > DEADLINE);
                let due = all.iter_mut().enumerate().filter(|(_, one)| !one.acknowledged && due(one));
                due.take(most).map(|(n, one)| {
                    (one.delivered, one.times) = (Some(Instant::now()), one.times + 1);
                    json!({"ackId": format!("ack-{n}"), "message": {"data": STANDARD.encode(one.event.to_string()), "messageId": n.to_string()}})
                })
                .collect::<Vec<_>>()
            });
            if !received.is_empty() {
                return json!({"receivedMessages": received});
            }
            if Instant::now() > until {
                return json!({});
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Serves the REST interface
    /// (<https://cloud.google.com/pubsub/docs/reference/rest/v1/projects.subscriptions>). The first acknowledgement is lost if `forgets`.
    ///
    /// # Errors
    /// There is no port to listen on.
    pub fn serve(&self, forgets: bool) -> Result<MockServer> {
        let (topic, forgets) = (self.clone(), Mutex::new(forgets));
        MockServer::open(move |request| {
            if request.header("authorization") != format!("Bearer {}", googlechat::TOKEN) {
                return (401, json!({"error": {"code": 401, "status": "UNAUTHENTICATED"}}));
            }
            let path = request.path.strip_prefix("/v1/").and_then(|path| path.strip_prefix(SUBSCRIPTION));
            let verb = path.and_then(|path| path.strip_prefix(':'));
            match (verb, request.json()) {
                (Some("pull"), body) if body["maxMessages"].as_u64() > Some(0) => {
                    let most = body["maxMessages"].as_u64().and_then(|most| usize::try_from(most).ok());
                    (200, topic.pull(most.unwrap_or(usize::MAX)))
                }
                (Some("acknowledge"), body) => {
                    let mut forgets = forgets.lock().unwrap_or_else(PoisonError::into_inner);
                    if std::mem::take(&mut *forgets) {
                        return (503, json!({"error": {"code": 503, "status": "UNAVAILABLE"}}));
                    }
                    let ids = body["ackIds"].as_array().cloned().unwrap_or_default();
                    topic.with(|all| {
                        for (n, one) in all.iter_mut().enumerate() {
                            one.acknowledged |= ids.contains(&json!(format!("ack-{n}")));
                        }
                    });
                    (200, json!({}))
                }
                _ => (404, json!({"error": {"code": 404, "status": "NOT_FOUND"}})),
            }
        })
    }
}
