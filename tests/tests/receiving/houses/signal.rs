//! Signal, before a double of signal-cli whose events have ids.

use std::sync::Arc;

use anyhow::Result;
use gatepost_tests::mocks::{
    MockServer,
    signal::{
        self, SignalMock,
        stream::{envelope, message},
    },
};
use serde_json::{Value, json};

use super::{Arrived, House, Told};

const ANN: &str = "00000001-0000-4000-8000-000000000000";
/// When her first line was written, in milliseconds.
const BEGINS: i64 = 1_700_000_000_000;

pub(crate) struct Signal {
    server: MockServer,
    double: Arc<SignalMock>,
}

impl Signal {
    pub(crate) fn open() -> Result<Self> {
        let (server, double) = signal::start_with()?;
        Ok(Self { server, double })
    }
}

/// When a line was written: its id.
fn at(line: usize) -> i64 {
    BEGINS + i64::try_from(line).unwrap_or(0)
}

impl House for Signal {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn account(&self) -> String {
        let (url, account) = (self.server.url(), signal::ACCOUNT);
        format!("[channels.signal.home]\nurl = \"{url}\"\naccount = \"{account}\"\nreceive = true\n")
    }

    fn listens(&self, _: &Value) -> bool {
        !self.double.stream.asked().is_empty()
    }

    fn id(&self) -> String {
        format!("signal:{ANN}")
    }

    fn tell(&self, told: Told<'_>) -> Result<bool> {
        self.double.stream.happens(&match told {
            Told::Line(line, text) => message(ANN, at(line), &json!({ "message": text })),
            Told::Edit(line, text) => {
                let edited = message(ANN, at(100_000 + line), &json!({ "message": text }));
                let data = &edited["envelope"]["dataMessage"];
                let edit = json!({"targetSentTimestamp": at(line), "dataMessage": data});
                envelope(ANN, at(100_000 + line), &json!({ "editMessage": edit }))
            }
            Told::Strange(number) => envelope(ANN, at(200_000 + number), &json!({"tomorrowMessage": {}})),
        });
        Ok(true)
    }

    fn arrived(&self) -> Result<Vec<Arrived>> {
        Ok(self.double.has(ANN).into_iter().map(|(id, text)| Arrived { id: id.to_string(), text }).collect())
    }
}
