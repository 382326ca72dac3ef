//! What a restart makes of messages that were accepted and not prepared yet: they are judged as if nothing had happened.

use tracing::Instrument as _;

use super::plan::Renderings;
use crate::{message::state::State, outbox::transition::TransitionError, pipeline::Pipeline};

impl Pipeline {
    /// Takes up what the last process had accepted. Runs before anything is dispatched.
    ///
    /// # Errors
    /// The database.
    pub async fn recover_accepted(&self) -> Result<(), TransitionError> {
        for message in self.0.outbox.live_in_state(State::Accepted).await? {
            let span = tracing::info_span!("message", id = message.id, agent = message.agent);
            match self.turn(message.lane()) {
                // Hooks may take their time; the hub does not wait for them.
                turn @ Some(_) => {
                    let pipeline = self.clone();
                    tokio::spawn(
                        async move { pipeline.prepare(message.seq, turn, &Renderings::default()).await }
                            .instrument(span),
                    );
                }
                None => self.prepare(message.seq, None, &Renderings::default()).instrument(span).await,
            }
        }
        Ok(())
    }
}
