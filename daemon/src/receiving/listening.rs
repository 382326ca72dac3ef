//! Accounts that hear from their platforms by a connection of their own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::{task::JoinHandle, time::timeout};

use super::account::AccountHandle;
use crate::{
    channels::Adapter,
    pipeline::{Pipeline, current::Current},
};

/// How long all accounts together may take to say goodbye, and to write down what their platforms will not tell again.
pub(crate) const GOODBYE_TIMEOUT: Duration = Duration::from_secs(5);

/// The accounts that listen, each on a task of its own. They end when this goes.
pub struct Listening {
    current: Current,
    listeners: BTreeMap<(String, String), Listener>,
}

/// One account that listens; until this goes.
struct Listener {
    adapter: Arc<dyn Adapter>,
    task: JoinHandle<()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listening {
    /// None yet, of this hub.
    pub fn of(current: &Current) -> Self {
        Self { current: current.clone(), listeners: BTreeMap::new() }
    }

    /// Lets each account of this pipeline keep what it keeps open. One that is open already keeps it; one that is gone, or
    /// was opened anew, says goodbye first: a platform that allows one connection would end the new one.
    pub async fn follow(&mut self, pipeline: &Pipeline) {
        let stays = |(channel, account): &(String, String), listener: &Listener| {
            let open = pipeline.0.accounts.pick(channel, Some(account));
            open.is_ok_and(|(_, adapter)| Arc::ptr_eq(adapter, &listener.adapter))
        };
        let gone: Vec<Listener> = self
            .listeners
            .extract_if(.., |key, listener| !stays(key, listener))
            .map(|(_, gone)| gone)
            .collect();
        say_goodbye(&gone).await;
        for mut listener in gone {
            listener.task.abort();
            // Cancelled, as it is to be.
            let _ = (&mut listener.task).await;
        }
        for (channel, account, adapter) in pipeline.0.accounts.iter() {
            let key = (channel.to_owned(), account.to_owned());
            self.listeners.entry(key).or_insert_with(|| {
                let hub = AccountHandle::of(&self.current, channel, account);
                let (adapter, listens) = (Arc::clone(adapter), Arc::clone(adapter));
                let task = tokio::spawn(async move { listens.listen(&hub).await });
                Listener { adapter, task }
            });
        }
    }

    /// Lets each account say goodbye over what it keeps open, and ends that. A platform that does not take it in time finds out by
    /// itself.
    pub async fn leave(self) {
        let all: Vec<Listener> = self.listeners.into_values().collect();
        say_goodbye(&all).await;
    }
}

async fn say_goodbye(listeners: &[Listener]) {
    let all = join_all(listeners.iter().map(|listener| listener.adapter.leave()));
    if timeout(GOODBYE_TIMEOUT, all).await.is_err() {
        tracing::info!("an account did not take leave of its platform in time");
    }
}
