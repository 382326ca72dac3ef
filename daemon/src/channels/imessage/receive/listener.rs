//! What keeps an account receiving, by either program.

use super::{poll::Reading, source::Source, tempo::Tempo};
use crate::channels::{hub_handle::HubHandle, kit::polling::Polling, receiver::Hearing};

/// What keeps an account receiving.
pub(in crate::channels::imessage) struct Listener {
    polling: Polling,
    tempo: Tempo,
}

impl Listener {
    pub(in crate::channels::imessage) fn new(platform: &'static str, account: &str, tempo: Tempo) -> Self {
        Self { polling: Polling::new(platform, account, tempo.asking), tempo }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(in crate::channels::imessage) fn hearing(&self) -> Hearing {
        self.polling.hearing("receives, and after a stop what Messages has kept on the Mac")
    }

    /// Something came.
    pub(in crate::channels::imessage) fn wake(&self) {
        self.polling.wake();
    }

    /// Receives for as long as anybody waits.
    pub(super) async fn listen(&self, source: &dyn Source, hub: &dyn HubHandle) {
        let (mut reading, mut failures) = (Reading::new(self.tempo, source, hub), 0);
        loop {
            let end = reading.end;
            let answer = reading.catch_up().await;
            // What was read or passed over before it failed need not be waited for again.
            if reading.end > end {
                failures = 0;
            }
            self.polling.wait(hub, answer, &mut failures, source.came()).await;
        }
    }
}
