//! What is said at a hub, written down: calls and their answers, what the companion showed, what arrived.
//!
//! Ids, contexts and times differ from run to run; each gets a name by the order in which it is first seen.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, thread};

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::hub::{Client, TestHub};
use serde_json::Value;

/// A document on its way.
pub(crate) struct Story {
    text: String,
    names: BTreeMap<String, String>,
}

impl Story {
    /// Begins one.
    pub(crate) fn begin(title: &str, opening: &str) -> Self {
        let text = format!("# {title}\n\n{opening}\n");
        Self { text, names: BTreeMap::new() }
    }

    /// A new part of it.
    pub(crate) fn chapter(&mut self, title: &str, opening: &str) {
        self.write(&format!("\n## {title}\n\n{opening}\n"));
    }

    /// Words.
    pub(crate) fn tells(&mut self, words: &str) {
        self.write(&format!("\n{words}\n"));
    }

    /// A block of something.
    pub(crate) fn shows(&mut self, what: &str, kind: &str, block: &str) {
        self.write(&format!("\n{what}:\n\n```{kind}\n{}\n```\n", block.trim()));
    }

    /// Somebody calls the hub; the answer, refusals too.
    pub(crate) fn calls(&mut self, who: &str, client: &Client, path: &str, body: &Value) -> Result<Value> {
        self.asks(who, path, body);
        let answer = client.post(path, body)?;
        self.is_answered(answer.status, &answer.body);
        Ok(answer.body)
    }

    /// Somebody calls the hub, and something happens before it answers.
    pub(crate) async fn calls_meanwhile(
        &mut self,
        who: &str,
        client: &Client,
        path: &str,
        body: &Value,
        meanwhile: impl AsyncFnOnce(&mut Self) -> Result<()>,
    ) -> Result<Value> {
        self.asks(who, path, body);
        let (client, path, body) = (client.clone(), path.to_owned(), body.clone());
        let call = thread::spawn(move || client.post(&path, &body));
        meanwhile(self).await?;
        let answer = call.join().expect("a call does not panic")?;
        self.is_answered(answer.status, &answer.body);
        Ok(answer.body)
    }

    /// The person reads the card, and decides.
    pub(crate) async fn decides(&mut self, fixture: &TestHub, verdict: Verdict) -> Result<()> {
        let seen = fixture.decide(verdict).await?;
        // Rows end where the screen does.
        let tidy = |page: &String| {
            page.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
        };
        let pages: Vec<String> = seen.pages.iter().map(tidy).collect();
        self.shows("The companion shows, page by page", "text", &pages.join("\n\n--- next page ---\n\n"));
        let done = match verdict {
            Verdict::Approve => "The person holds **Approve**.",
            Verdict::Deny => "The person presses **Deny**.",
        };
        self.tells(done);
        Ok(())
    }

    /// What has arrived at an address of the hub's own inbox.
    pub(crate) fn arrived(&mut self, fixture: &TestHub, address: &str) -> Result<()> {
        let parts = fixture.arrived(address)?;
        self.shows(
            &format!("In the inbox of `local:{address}`"),
            "text",
            &parts.join("\n\n--- next ---\n\n"),
        );
        Ok(())
    }

    /// Compares it with what it was.
    pub(crate) fn is_as_before(&self, name: &str) -> Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        if std::env::var_os("GATEPOST_GOLDEN").is_some_and(|value| value == "write") {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, &self.text)?;
        }
        let was = fs::read_to_string(&path).unwrap_or_default();
        ensure!(
            self.text == was,
            "{name} differs: look at what GATEPOST_GOLDEN=write makes of it:\n{}",
            self.text
        );
        Ok(())
    }

    fn asks(&mut self, who: &str, path: &str, body: &Value) {
        self.shows(&format!("{who} calls `POST {path}`"), "json", &pretty(body));
    }

    fn is_answered(&mut self, status: u16, body: &Value) {
        self.shows(&format!("It is answered with {status}"), "json", &pretty(body));
    }

    fn write(&mut self, text: &str) {
        let text = self.named(text);
        self.text.push_str(&text);
    }

    /// The same with names for what differs from run to run.
    fn named(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            let (before, word) = rest.split_at(at);
            if let Some(after) = behind_a_time(word) {
                out.push_str(before);
                out.push_str("TIME");
                rest = after;
                continue;
            }
            let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            out.push_str(before);
            match self.name(word) {
                Some(name) => out.push_str(&name),
                None => out.push_str(word),
            }
            rest = after;
        }
        out + rest
    }

    fn name(&mut self, word: &str) -> Option<String> {
        let hex = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
        let kind = if word.strip_prefix('m').is_some_and(|id| hex(id, 32)) {
            "message"
        } else if word.strip_prefix("gpc_").is_some_and(|token| hex(token, 64)) {
            "context"
        } else if word.len() == 13 && word.starts_with('1') && word.bytes().all(|b| b.is_ascii_digit()) {
            // Milliseconds since 1970.
            return Some("TIME".into());
        } else {
            return None;
        };
        let count = self.names.values().filter(|name| name.starts_with(kind)).count() + 1;
        let mut name = String::new();
        write!(name, "{kind}-{count}").expect("a String takes everything");
        Some(self.names.entry(word.to_owned()).or_insert(name).clone())
    }
}

/// What comes behind a time (RFC 3339, UTC, to the millisecond), if the text begins with one.
fn behind_a_time(text: &str) -> Option<&str> {
    const FORM: &[u8] = b"0000-00-00T00:00:00.000Z";
    let (time, after) = text.split_at_checked(FORM.len())?;
    let fits = |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
    time.bytes().zip(FORM).all(fits).then_some(after)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a value is JSON")
}
