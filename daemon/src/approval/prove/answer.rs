//! A decision as others can check it: without the hub, its database or this program.
//!
//! The bytes under an Ed25519 signature stand beside it, so that any tool can verify it. What a person was shown is the document, whose
//! hash is among those bytes; so is the hub's key, the device's, and the verdict ([`gatepost_link::decision::Statement`]). A passkey signs a
//! hash of such bytes ([`passkeys::statement`]) within what its browser says: that stands beside it too, and the passkey's public key.

use gatepost_link::{
    Digest, RequestId,
    decision::{PublicKey, Verdict},
    document::Document,
};
use rusqlite::{Connection, OptionalExtension as _};
use serde::{Deserialize, Serialize};

use super::{
    super::passkeys::{
        self,
        assertion::{self, Assertion},
    },
    decision::{APPROVAL, Decision, How, Stored, verdict},
    votes::{STORED, Vote},
};
use crate::{
    audit::checkpoint::{bytes_from_hex, from_hex},
    message::state::Event,
    random::to_hex,
    store::StoreError,
};

/// The form of [`Answer`]; another form has another number.
const FORM: u32 = 1;
/// The same with the decision of a passkey among others.
const WITH_PASSKEYS: u32 = 2;

/// What somebody decided about a message, or answered to a question. All bytes are lower-case hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// 1; 2 where a passkey has decided.
    form: u32,
    /// The message or question, by its id. No signature covers it: what was shown is in the document.
    pub id: String,
    /// The hub's public key.
    pub hub: String,
    /// The document as it was shown, in postcard (`gatepost_link::document`).
    document: String,
    /// How many had to approve it, as the hub says. No signature covers it.
    pub quorum: u64,
    /// Each decision; a denial ends it alone.
    pub decisions: Vec<Signed>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The hub's name for the device. No signature covers it.
    pub by: String,
    /// The device's public key; or SHA-256 of the id of the passkey's credential.
    pub device: String,
    /// `approve` or `deny`.
    pub verdict: String,
    counter: u64,
    /// Of a passkey, what was given out for this decision.
    session: String,
    /// The bytes under the signature. Of a passkey, those whose SHA-256 is the challenge in `client_data`.
    signed: String,
    signature: String,
    /// What a passkey signed, and by what it is verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passkey: Option<ByPasskey>,
}

/// What a passkey signed: `authenticator_data`, and SHA-256 of `client_data`
/// (<https://www.w3.org/TR/webauthn-3/#sctn-verifying-assertion>).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByPasskey {
    /// SubjectPublicKeyInfo.
    public_key: String,
    /// COSE's number of its algorithm.
    algorithm: i64,
    /// The name that it belongs to.
    rp_id: String,
    client_data: String,
    authenticator_data: String,
}

/// Why a file proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProof {
    /// Another program wrote it, or a newer one.
    #[error(
        "it is in form {0}, and this Gatepost knows forms {FORM} and {WITH_PASSKEYS}: use the Gatepost that wrote it, or a newer one"
    )]
    Form(u32),
    /// Some of its bytes cannot be read.
    #[error("its {0} cannot be read")]
    Unreadable(&'static str),
    /// The signature is of something else.
    #[error("the signature of {0} is not of this decision: the document, the verdict or a key was changed")]
    Signature(String),
    /// Too few approved.
    #[error("{0} approved, and {1} had to")]
    Quorum(u64, u64),
    /// Somebody said yes, and somebody no.
    #[error("it has no decision, or several that differ")]
    Undecided,
}

/// What a file proves, and about what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proved {
    /// What was decided.
    pub verdict: Verdict,
    /// The document's bytes.
    pub document: Vec<u8>,
    /// The keys of the devices that decided.
    pub devices: Vec<[u8; 32]>,
    /// The keys of the passkeys that did, as SubjectPublicKeyInfo.
    pub passkeys: Vec<Vec<u8>>,
}

/// The answer to a question, or the decision about a message; nothing, if nobody has decided, or what was decided is gone.
pub fn answer(db: &Connection, hub: PublicKey, id: &str) -> Result<Option<Answer>, StoreError> {
    let Some(stored) = db.query_row(APPROVAL, [id], Stored::read).optional()? else { return Ok(None) };
    let Some(last) = stored.decision() else { return Ok(None) };
    let mut all = vec![];
    if last.is_approval() {
        let mut votes = db.prepare(STORED)?;
        for vote in votes.query_map([last.request.0], Vote::read)? {
            let vote = vote?.decision(last.request, &stored.document);
            all.extend(vote.filter(|vote| vote.device != last.device));
        }
    }
    all.push(last);
    let form = if all.iter().any(|decision| decision.how.is_of_passkey()) { WITH_PASSKEYS } else { FORM };
    let passkeys = passkeys::registered(db)?;
    let signed = |decision: Decision| {
        let key = decision.device;
        let sql = match decision.how {
            How::Device { .. } => "SELECT name FROM devices WHERE key = ?",
            How::Passkey { .. } => "SELECT name FROM passkeys WHERE id = ?",
        };
        let by: Option<String> = db.query_row(sql, [key], |row| row.get(0)).optional()?;
        let (session, signature, passkey) = match &decision.how {
            How::Device { session, signature } => (to_hex(&session.0), to_hex(&signature.0), None),
            How::Passkey { nonce, assertion } => {
                let by = passkeys.get(&key).map(|(_, key)| ByPasskey {
                    public_key: to_hex(&key.spki),
                    algorithm: key.algorithm,
                    rp_id: key.rp_id.clone(),
                    client_data: to_hex(&assertion.client_data),
                    authenticator_data: to_hex(&assertion.authenticator_data),
                });
                (to_hex(nonce), to_hex(&assertion.signature), by)
            }
        };
        Ok(Signed {
            by: by.unwrap_or_default(),
            device: to_hex(&key),
            verdict: if decision.is_approval() { Event::Approve } else { Event::Deny }.word().into(),
            counter: u64::try_from(decision.counter).unwrap_or(u64::MAX),
            session,
            signed: to_hex(&decision.signed_bytes(hub)),
            signature,
            passkey,
        })
    };
    let decisions = all.into_iter().map(signed).collect::<Result<_, StoreError>>()?;
    let (hub, document) = (to_hex(&hub.0), to_hex(&stored.document));
    Ok(Some(Answer { form, id: id.to_owned(), hub, document, quorum: stored.quorum, decisions }))
}

impl Answer {
    /// What it proves. Whether the keys are those of a hub and of devices that one trusts, whoever reads it has to say.
    ///
    /// # Errors
    /// It proves nothing.
    pub fn check(&self) -> Result<Proved, NoProof> {
        if ![FORM, WITH_PASSKEYS].contains(&self.form) {
            return Err(NoProof::Form(self.form));
        }
        let hub = PublicKey(from_hex(&self.hub).ok_or(NoProof::Unreadable("hub's key"))?);
        let bytes = bytes_from_hex(&self.document).ok_or(NoProof::Unreadable("document"))?;
        let request = Document::decode(&bytes).map_err(|_| NoProof::Unreadable("document"))?.request;
        let (mut devices, mut passkeys) = (vec![], vec![]);
        let mut verdicts = vec![];
        for signed in &self.decisions {
            let (decision, key) = signed.read(request, Digest::of(&bytes))?;
            let same_bytes = signed.signed == to_hex(&decision.signed_bytes(hub));
            if !same_bytes || !decision.is_signed_for(hub, key.as_ref()) {
                return Err(NoProof::Signature(signed.by.clone()));
            }
            // Each counts once.
            match key {
                Some(key) if !passkeys.contains(&key.spki) => passkeys.push(key.spki),
                None if !devices.contains(&decision.device) => devices.push(decision.device),
                _ => {}
            }
            verdicts.push(decision.verdict);
        }
        match verdicts.split_first() {
            Some((&verdict, others)) if others.iter().all(|other| *other == verdict) => {
                let approved = (devices.len() + passkeys.len()) as u64;
                match verdict == Verdict::Approve && approved < self.quorum {
                    true => Err(NoProof::Quorum(approved, self.quorum)),
                    false => Ok(Proved { verdict, document: bytes, devices, passkeys }),
                }
            }
            _ => Err(NoProof::Undecided),
        }
    }
}

impl Signed {
    /// The decision that it says was given, and the key of the passkey that is said to have given it.
    fn read(
        &self,
        request: RequestId,
        document: Digest,
    ) -> Result<(Decision, Option<assertion::PublicKey>), NoProof> {
        let bytes = |text: &str, what| bytes_from_hex(text).ok_or(NoProof::Unreadable(what));
        let (session, signature) = (bytes(&self.session, "session")?, bytes(&self.signature, "signature")?);
        let (how, key) = match &self.passkey {
            None => (How::stored(&session, &signature).filter(|how| !how.is_of_passkey()), None),
            Some(by) => {
                let assertion = Assertion {
                    client_data: bytes(&by.client_data, "client data")?,
                    authenticator_data: bytes(&by.authenticator_data, "authenticator data")?,
                    signature,
                };
                let (spki, rp_id) = (bytes(&by.public_key, "passkey's key")?, by.rp_id.clone());
                let key = assertion::PublicKey { spki, algorithm: by.algorithm, rp_id };
                let how = session.try_into().ok().map(|nonce| How::Passkey { nonce, assertion });
                (how, Some(key))
            }
        };
        let decision = Decision {
            request,
            verdict: verdict(&self.verdict).ok_or(NoProof::Unreadable("verdict"))?,
            document,
            device: from_hex(&self.device).ok_or(NoProof::Unreadable("device's key"))?,
            counter: i64::try_from(self.counter).map_err(|_| NoProof::Unreadable("counter"))?,
            how: how.ok_or(NoProof::Unreadable("signature"))?,
        };
        Ok((decision, key))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::approval::{
        Terms,
        testing::{Fixture, HUB, public},
    };

    async fn answered(fixture: &Fixture, id: &str) -> Option<Answer> {
        let id = id.to_owned();
        fixture.outbox.store().read(move |db| answer(db, HUB, &id)).await.unwrap()
    }

    #[tokio::test]
    async fn an_answer_proves_itself_with_nothing_but_its_file() {
        let mut fixture = Fixture::with(&[(9, "shelf")], Terms::default()).await;
        let (yes, no) = (fixture.hold("first").await, fixture.hold("second").await);
        fixture.hold("third").await;
        fixture.decide_as(9, yes, Verdict::Approve, 3).await.unwrap();
        fixture.decide_as(9, no, Verdict::Deny, 4).await.unwrap();
        for (index, verdict) in [Verdict::Approve, Verdict::Deny].into_iter().enumerate() {
            let answer = answered(&fixture, &fixture.messages[index]).await.unwrap();
            let file = serde_json::to_string(&answer).unwrap();
            let read: Answer = serde_json::from_str(&file).unwrap();
            let proved = read.check().unwrap();
            assert_eq!((proved.verdict, proved.devices), (verdict, vec![public(9).0]));
            assert_eq!(Document::decode(&proved.document).unwrap().agent, "a");
            assert_eq!(read.decisions[0].by, "shelf");
        }
        assert_eq!(answered(&fixture, &fixture.messages[2]).await, None, "nobody has answered");
        assert_eq!(answered(&fixture, "m0").await, None);
    }

    #[tokio::test]
    async fn of_two_who_must_approve_one_is_no_proof() {
        let terms = Terms { quorum: 2, ..Terms::default() };
        let mut fixture = Fixture::with(&[(8, "hall"), (9, "shelf")], terms).await;
        let seq = fixture.hold("first").await;
        fixture.decide_as(8, seq, Verdict::Approve, 3).await.unwrap();
        assert_eq!(answered(&fixture, &fixture.messages[0]).await, None, "one more must");
        fixture.decide_as(9, seq, Verdict::Approve, 3).await.unwrap();
        let whole = answered(&fixture, &fixture.messages[0]).await.unwrap();
        assert_eq!(whole.check().unwrap().devices, [public(8).0, public(9).0]);
        let mut less = whole.clone();
        less.decisions.remove(0);
        assert_eq!(less.check(), Err(NoProof::Quorum(1, 2)));
        // The same one twice is one.
        less.decisions.push(less.decisions[0].clone());
        assert_eq!(less.check(), Err(NoProof::Quorum(1, 2)));
    }

    #[tokio::test]
    async fn whatever_is_changed_in_it_is_found() {
        let mut fixture = Fixture::with(&[(9, "shelf")], Terms::default()).await;
        let seq = fixture.hold("first").await;
        fixture.decide_as(9, seq, Verdict::Deny, 3).await.unwrap();
        let whole = json!(answered(&fixture, &fixture.messages[0]).await.unwrap());
        let checked = |value: &Value| serde_json::from_value::<Answer>(value.clone()).unwrap().check();
        assert!(checked(&whole).is_ok());
        let another = |text: &str| {
            let last = if text.ends_with('0') { "1" } else { "0" };
            format!("{}{last}", &text[..text.len() - 1])
        };
        let mut changed = whole.clone();
        changed["hub"] = another(whole["hub"].as_str().unwrap()).into();
        assert!(checked(&changed).is_err());
        changed = whole.clone();
        changed["document"] = whole["document"].as_str().unwrap().replace("6669727374", "6c6173742e").into();
        assert_eq!(checked(&changed), Err(NoProof::Signature("shelf".into())));
        for field in ["device", "session", "signature", "signed"] {
            changed = whole.clone();
            let decision = &mut changed["decisions"][0];
            decision[field] = another(whole["decisions"][0][field].as_str().unwrap()).into();
            assert!(checked(&changed).is_err(), "{field}");
        }
        for (field, value) in [("verdict", json!("approve")), ("counter", json!(4))] {
            changed = whole.clone();
            changed["decisions"][0][field] = value;
            assert!(checked(&changed).is_err(), "{field}");
        }
        changed = whole.clone();
        changed["form"] = 3.into();
        assert_eq!(checked(&changed), Err(NoProof::Form(3)));
        changed = whole.clone();
        changed["decisions"] = json!([]);
        assert_eq!(checked(&changed), Err(NoProof::Undecided));
        for odd in ["", "0", "zz", "+1"] {
            changed = whole.clone();
            changed["document"] = odd.into();
            assert!(checked(&changed).is_err(), "{odd:?}");
        }
    }
}
