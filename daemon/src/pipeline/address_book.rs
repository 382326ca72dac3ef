//! The address book: names that the configuration gives to targets. In a broadcast nobody is written to twice because the call has
//! two names for them.

use std::collections::BTreeMap;

use crate::message::{
    action::Action,
    call::Call,
    refusal::Refusal,
    target::{Destination, Target},
};

/// Names for targets, as the configuration has them.
#[derive(Debug, Clone, Default)]
pub struct AddressBook(BTreeMap<String, Destination>);

impl AddressBook {
    /// A book of these names.
    pub fn new(names: BTreeMap<String, Destination>) -> Self {
        Self(names)
    }

    /// What a call means by a name in it. A channel that the call names comes first: what is an address there is that.
    pub(crate) fn meant(
        &self,
        call: &Call,
        is_address: impl FnOnce(&str, &str) -> bool,
    ) -> Option<(Destination, &str)> {
        let (meant, name) = self.look(&call.destination)?;
        let Destination::Address { channel: Some(channel), .. } = &meant else { return None };
        let own = match &call.channel {
            None => true,
            Some(named) => named == channel && !is_address(channel, name),
        };
        own.then_some((meant, name))
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The name of a place in it, whichever of its threads is meant.
    pub(crate) fn name_of(&self, place: &Target) -> Option<&str> {
        let is_there = |meant: &Destination| {
            matches!(meant, Destination::Address { channel: Some(channel), address, .. }
                if *channel == place.channel && *address == place.address)
        };
        self.0.iter().find(|(_, meant)| is_there(meant)).map(|(name, _)| name.as_str())
    }

    /// What a destination means that is nothing but a name in it, and that name.
    fn look(&self, destination: &Destination) -> Option<(Destination, &str)> {
        let Destination::Address { channel: None, address, person: false, thread } = destination else {
            return None;
        };
        let (name, meant) = self.0.get_key_value(address)?;
        let mut meant = meant.clone();
        if let Destination::Address { thread: own, .. } = &mut meant
            && thread.is_some()
        {
            own.clone_from(thread);
        }
        Some((meant, name))
    }

    /// The calls of a broadcast with the names looked up. A name has its own channel and goes there once, whatever channels
    /// the other targets are tried on.
    ///
    /// # Errors
    /// Two different targets are the same conversation.
    pub fn distinct(&self, calls: Vec<Call>) -> Result<Vec<Call>, Refusal> {
        let mut kept: Vec<(Destination, Call)> = Vec::with_capacity(calls.len());
        for mut call in calls {
            let mut meant = call.destination.clone();
            if let Some((place, _)) = self.look(&call.destination) {
                meant = place;
                // For one target, a channel beside the name is a second opinion, and refused where it contradicts.
                if call.action == Action::Broadcast {
                    call.channel = None;
                }
            }
            if let Destination::Address { channel: channel @ None, .. } = &mut meant {
                channel.clone_from(&call.channel);
            }
            match kept.iter().find(|(other, _)| *other == meant) {
                Some((_, before)) if before.destination == call.destination => {}
                Some((_, before)) => {
                    let error = format!(
                        "the broadcast names one conversation twice: {} and {}",
                        before.destination, call.destination
                    );
                    return Err(Refusal::input(error, "name each target once").because("contradictory"));
                }
                None => kept.push((meant, call)),
            }
        }
        Ok(kept.into_iter().map(|(_, call)| call).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CHANNELS: [&str; 2] = ["local", "telegram"];

    fn targets(call: &Value) -> Result<Vec<(Option<String>, String)>, Refusal> {
        let ann = Destination::parse("local:ann", &CHANNELS).unwrap();
        let book = AddressBook::new([("annbook".to_owned(), ann)].into());
        let calls = book.distinct(Call::parse_all(call, &CHANNELS)?)?;
        Ok(calls.into_iter().map(|call| (call.channel, call.destination.to_string())).collect())
    }

    #[test]
    fn a_name_goes_once_to_its_own_channel() {
        let call = json!({
            "action": "broadcast", "targets": ["annbook", "5"], "channels": ["local", "telegram"], "message": "Tea?",
        });
        let on = |channel: &str| (Some(channel.to_owned()), "5".to_owned());
        let expected = [(None, "annbook".to_owned()), on("local"), on("telegram")];
        assert_eq!(targets(&call).unwrap(), expected);
    }

    #[test]
    fn two_names_for_one_conversation_are_refused() {
        let call = json!({"action": "broadcast", "targets": ["annbook", "local:ann"], "message": "Tea?"});
        assert!(targets(&call).unwrap_err().error.contains("annbook"));
        let threads =
            json!({"action": "broadcast", "targets": ["annbook", "local:ann#5"], "message": "Tea?"});
        assert_eq!(targets(&threads).unwrap().len(), 2, "another thread is another conversation");
    }

    #[test]
    fn of_a_single_call_nothing_is_dropped() {
        let call = json!({"to": "annbook", "channel": "telegram", "message": "Tea?"});
        assert_eq!(targets(&call).unwrap(), [(Some("telegram".to_owned()), "annbook".to_owned())]);
    }
}
