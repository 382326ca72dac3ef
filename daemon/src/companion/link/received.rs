//! What comes from companions: their presence, their sessions and their decisions; and the audit of what is refused.

use std::time::Instant;

use gatepost_link::{
    RequestId,
    decision::{Decision, PublicKey},
    session::SessionHash,
    topic::PAIRING_PREFIX,
};
use rumqttc::Publish;
use serde_json::{Value, json};

use super::{Companion, Serving, telling};
use crate::{
    approval::{
        Approvals,
        decide::{DecisionError, Outcome},
        device,
        presence::Presence,
    },
    audit::{self, Entry, Event},
    companion::{sealed::Fault, session::Asked},
    outbox::Outbox,
    random::to_hex,
};

impl Serving {
    /// Takes what came on a topic that is subscribed.
    pub(super) async fn received(&mut self, publish: &Publish) {
        if publish.topic.starts_with(PAIRING_PREFIX) {
            return self.pair(publish).await;
        }
        let Some(companion) = self.companions.get_mut(&publish.topic) else {
            let online = publish.payload == "1";
            tracing::debug!(topic = publish.topic, online, "presence");
            let here = |companion: &&mut Companion| companion.topics.presence.as_str() == publish.topic;
            if let Some(companion) = self.companions.values_mut().find(here) {
                self.presence.note(companion.device.key, online);
                // Who can be asked is another matter now, and with it who may restart.
                self.follow_offers().await;
            }
            return;
        };
        let name = companion.device.name.clone();
        let heard = companion.session.received(Instant::now(), &publish.payload);
        self.presence.fetched(companion.device.key, companion.session.fetched());
        match heard {
            Ok(Asked::Nothing) => {}
            Ok(Asked::Begun) => {
                companion.firmware.begin();
                begun(companion, &self.presence, &self.outbox).await;
                telling::remind(&self.approvals, companion).await;
                self.update().await;
            }
            Ok(Asked::Decide(session, decision)) => {
                if decided(companion, &self.approvals, session, decision).await {
                    self.update().await;
                }
            }
            Ok(Asked::Mute(request)) => muted(&name, &self.approvals, request).await,
            Ok(Asked::CannotShow(request, reason)) => {
                tracing::warn!(companion = name, %request, ?reason, "a companion cannot show a request");
            }
            Ok(Asked::Display { works, tell }) => {
                let device = companion.device.key;
                if self.presence.display(device, works) && tell {
                    self.tell_display(name, device, works).await;
                }
                self.update().await;
                self.follow_offers().await;
            }
            Ok(Asked::Running(running)) => self.runs(&publish.topic, running).await,
            Ok(Asked::FetchBlock { part, offset, length }) => {
                companion.firmware.asked(&mut companion.session, Instant::now(), part, offset, length);
            }
            Ok(Asked::Update { image, progress }) => self.reports(&publish.topic, image, progress).await,
            Err(fault) => {
                tracing::warn!(companion = name, %fault, "a payload was refused");
                let device = companion.device.key;
                self.note(name, device, fault).await;
            }
        }
    }

    /// Writes down what was refused in a companion's name.
    async fn note(&self, name: String, device: PublicKey, fault: Fault) {
        let event = match fault {
            Fault::Cloned => Event::DeviceCloned,
            Fault::Frame(_) | Fault::Forged | Fault::Replayed | Fault::Gap => Event::LinkRefused,
        };
        let detail = json!({"device": to_hex(&device.0), "name": name, "why": fault.to_string()});
        self.write(event, detail).await;
    }

    /// Says that a companion's display has ceased to work, or works again.
    async fn tell_display(&self, name: String, device: PublicKey, works: bool) {
        match works {
            true => tracing::info!(companion = name, "a companion's display works again"),
            false => tracing::warn!(
                companion = name,
                "a companion's display does not answer: nobody can be asked there; look after its cable"
            ),
        }
        let detail = json!({"device": to_hex(&device.0), "name": name, "works": works});
        self.write(Event::DeviceDisplay, detail).await;
    }

    pub(super) async fn write(&self, event: Event, detail: Value) {
        let written = self
            .outbox
            .store()
            .write(move |tx| audit::append(tx, &Entry { actor: "hub", event, message: None, detail }))
            .await;
        if let Err(error) = written {
            tracing::error!(%error, event = event.word(), "the audit could not be written");
        }
    }
}

/// A session of a companion has begun: it is here, and its version of the link counts from now on.
async fn begun(companion: &mut Companion, presence: &Presence, outbox: &Outbox) {
    let name = companion.device.name.as_str();
    match companion.session.is_outdated() {
        false => tracing::info!(companion = name, "a companion is here"),
        true => tracing::warn!(
            companion = name,
            "a companion is here whose firmware is too old: it is asked nothing; update it by cable (firmware/README.md)"
        ),
    }
    presence.note(companion.device.key, true);
    presence.session(companion.device.key);
    let version = companion.session.version();
    if companion.device.version < version {
        companion.device.version = version;
        let noted = device::spoke(outbox.store(), companion.device.key, version).await;
        if let Err(error) = noted {
            tracing::error!(companion = name, %error, "cannot note which version a companion speaks");
        }
    }
}

/// Mutes the agent whose message was denied there.
async fn muted(name: &str, approvals: &Approvals, request: RequestId) {
    match approvals.mute_denied(request, &format!("companion:{name}")).await {
        Ok(Some(agent)) => tracing::info!(companion = name, agent, "an agent is muted for an hour"),
        Ok(None) => tracing::warn!(companion = name, %request, "a mute of what was not denied is ignored"),
        Err(error) => tracing::error!(companion = name, %error, "an agent could not be muted"),
    }
}

/// Takes a companion's decision, and tells it what became of it. Whether it was rejected: it is shown anew then what waits.
async fn decided(
    companion: &mut Companion,
    approvals: &Approvals,
    session: SessionHash,
    decision: Decision,
) -> bool {
    let name = companion.device.name.as_str();
    match approvals.decide(companion.device.key, session, decision).await {
        Ok(Outcome::Consumed) => companion.session.consumed(Instant::now(), decision.request),
        Ok(Outcome::Over(state)) => {
            companion.session.withdraw(decision.request, telling::withdrawal(state));
        }
        // The hub's own trouble says nothing about the decision; the companion sends it again.
        Err(DecisionError::Transition(error)) => {
            tracing::error!(companion = name, %error, "a decision could not be written down");
        }
        Err(error) => {
            tracing::warn!(companion = name, %error, "a decision was rejected");
            companion.session.rejected(decision.request);
            return true;
        }
    }
    false
}
