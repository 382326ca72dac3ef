//! Whether something is lost while the hub is away: whether signal-cli receives also while nobody listens.
//!
//! A daemon receives from its start on unless it was started with `--receive-mode=on-connection`, and says nowhere which
//! (<https://github.com/AsamK/signal-cli/blob/master/man/signal-cli.1.adoc>, `daemon`). But it refuses to `receive` what it receives already
//! (`ReceiveCommand`: `AlreadyReceivingException`), and asked for no more than zero messages it takes none from Signal
//! (`ReceiveHelper.receiveMessagesInternal`). So that is asked before the stream is opened, while nobody listens.
//!
//! After a restart of the hub signal-cli may believe for two keepalives that the hub listens still. Therefore a daemon that was known to
//! receive for listeners alone is believed until it has been away.

use serde_json::{Value, json};

use crate::channels::{
    RateHints,
    kit::json::taken,
    received::Position,
    signal::{classify::code, client::Client},
};

/// The stream under which it is remembered.
pub(super) const STREAM: &str = "mode";

/// When signal-cli receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// While somebody listens.
    OnConnection,
    /// Always: what nobody listens for is lost.
    OnStart,
}

impl Mode {
    /// As it was stored.
    pub(super) fn parse(stored: &str) -> Option<Self> {
        [Self::OnConnection, Self::OnStart].into_iter().find(|mode| mode.word() == stored)
    }

    /// As it is stored.
    pub(super) fn position(self) -> Position {
        Position { stream: STREAM.into(), value: self.word().into() }
    }

    /// As signal-cli's option has it.
    const fn word(self) -> &'static str {
        match self {
            Self::OnConnection => "on-connection",
            Self::OnStart => "on-start",
        }
    }

    /// What there is to say of it to who asks whether the account is ready.
    pub(super) const fn warning(self) -> Option<&'static str> {
        match self {
            Self::OnConnection => None,
            Self::OnStart => Some(
                "what comes while the hub is away is lost: start signal-cli's daemon with --receive-mode=on-connection",
            ),
        }
    }

    /// What is to be believed, of a daemon that `receives` already or not; `new` is one of which is known that the hub does not listen.
    pub(super) const fn judged(known: Option<Self>, receives: bool, new: bool) -> Self {
        match (receives, known, new) {
            (false, ..) | (true, Some(Self::OnConnection), false) => Self::OnConnection,
            (true, ..) => Self::OnStart,
        }
    }
}

impl Client {
    /// Whether signal-cli receives already, before the hub listens; nothing where it does not say. What it hands over with the answer, which
    /// none of its versions does, has been received.
    pub(super) async fn receives_already(&self) -> Option<(bool, Vec<Value>)> {
        let params = json!({ "account": self.account(), "timeout": 0, "maxMessages": 0 });
        let mut answer = self.brief("receive", params, &mut RateHints::default()).await.ok()?;
        if let Value::Array(events) = taken(&mut answer.body, "result") {
            return Some((false, events));
        }
        // `UserErrorException`, in these words; nobody knows of another refusal what it means.
        let error = &answer.body["error"];
        let said = error["message"].as_str().unwrap_or_default();
        (error["code"] == code::USER && said.contains("already being received")).then(|| (true, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::{
        signal::scenarios,
        testing::{
            http::{Mock, Reply},
            sample::Files,
        },
    };

    #[tokio::test]
    async fn what_answers_with_something_else_says_nothing() {
        for body in ["[]", "5", "\"yes\"", "null", "{}"] {
            let mock = Mock::start(&[Reply::Says(200, "", body)]);
            let signal = scenarios::signal(mock.port, &Files::new());
            assert_eq!(signal.client.receives_already().await, None, "{body}");
        }
    }

    #[test]
    fn a_daemon_is_suspected_only_where_the_hub_cannot_be_the_listener() {
        use Mode::{OnConnection, OnStart};
        for (known, receives, new, is) in [
            (None, false, false, OnConnection),
            (None, true, false, OnStart),
            (Some(OnConnection), true, false, OnConnection),
            (Some(OnConnection), true, true, OnStart),
            (Some(OnStart), true, false, OnStart),
            (Some(OnStart), false, false, OnConnection),
        ] {
            assert_eq!(Mode::judged(known, receives, new), is, "{known:?} {receives} {new}");
        }
        for mode in [OnConnection, OnStart] {
            assert_eq!(Mode::parse(&mode.position().value), Some(mode));
        }
        assert_eq!(Mode::parse(""), None);
    }
}
