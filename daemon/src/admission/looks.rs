//! How the parts of a held message look on their platform, and how much room they take there: for the person who is asked.
//!
//! What is signed is the text in the approval document. This is beside it, made anew from the message by the account as it is now, so
//! it may have changed since; of a part that is no text, the signed one stands for itself.

use gatepost_chunk::Unit;

use super::plan::{decorated, whose};
use crate::{
    channels::formats::PLAIN,
    message::operation::Operation,
    outbox::row::MessageRow,
    pipeline::Pipeline,
    render::{self, Flavour, Run},
};

/// A part as its platform has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks {
    /// How long it is there, in `unit`s.
    pub units: usize,
    /// The most that a part may have; 0 if there is no limit.
    pub limit: usize,
    /// What is counted.
    pub unit: Unit,
    /// What is seen of it.
    pub runs: Vec<Run>,
}

impl Pipeline {
    /// The looks of a message's parts, of which an approver was `shown` these texts. It renders a text: not for asynchronous threads.
    pub fn looks(&self, message: &MessageRow, shown: &[String]) -> Vec<Looks> {
        let target = message.target();
        let adapter =
            self.0.accounts.pick(&target.channel, Some(&message.account)).ok().map(|(_, adapter)| adapter);
        let flavour = adapter.map_or(PLAIN, |adapter| adapter.flavour());
        let rules = self.rules(&message.agent);
        let origin = message.origin.as_ref();
        let prefix = whose(rules, &message.agent, origin, &message.account, &target, &message.touched);
        let texts = match message.operation {
            Operation::Send(_) => rendered(message, prefix.as_deref(), &flavour),
            _ => vec![],
        };
        let plain = |text: &String| Looks {
            units: flavour.unit.count(text),
            limit: flavour.limit.unwrap_or(0),
            unit: flavour.unit,
            runs: vec![Run { text: text.clone(), styles: vec![] }],
        };
        let mut texts = texts.into_iter();
        // Texts come first, and files behind them.
        let one = |shown: &String| match texts.next() {
            Some((units, runs)) => Looks { units, runs, ..plain(shown) },
            None => plain(shown),
        };
        shown.iter().map(one).collect()
    }
}

/// The texts of a message, with their lengths; none where they cannot be told part by part.
fn rendered(message: &MessageRow, prefix: Option<&str>, flavour: &Flavour) -> Vec<(usize, Vec<Run>)> {
    let document = decorated(render::parse(&message.text), prefix, &message.attachments);
    match (render::render(&document, flavour), render::looks(&document, flavour)) {
        (Ok(parts), Ok(looks)) if parts.len() == looks.len() => {
            parts.iter().map(|part| part.units).zip(looks).collect()
        }
        _ => vec![],
    }
}
