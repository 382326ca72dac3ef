//! What an account takes, from its settings.

use reqwest::header::HeaderName;
use serde::Deserialize;

use super::{
    Taking,
    body::Pointer,
    proof::{LEAST_CHARS, Proof},
};
use crate::{
    channels::{account::OpenError, webhook::Settings},
    settings::secret::{Secret, SecretSource},
};

/// Secrets of one account: the one that holds, and those that senders may still have.
const MAX_SECRETS: usize = 5;

/// `proof`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::channels::webhook) enum By {
    #[default]
    Standard,
    Token,
    Github,
}

/// `trust`. Never an owner: whoever is in a program's words may mislead their reader, and only an owner's words let things go unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::channels::webhook) enum Trust {
    #[default]
    Known,
    Unknown,
}

/// Headers in which secrets stand.
const SECRETS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// What is taken, if anything is to be.
pub(in crate::channels::webhook) fn taking(
    account: &str,
    settings: &Settings,
) -> Result<Option<Taking>, OpenError> {
    if !settings.receive {
        return Ok(None);
    }
    let secrets = secrets(&settings.proof_secrets)?;
    let named = settings.proof_secrets.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    let proof_header =
        settings.proof_header.as_deref().map(|name| header("proof_header", name)).transpose()?;
    let id_header = settings.id_header.as_deref().map(|name| header("id_header", name)).transpose()?;
    if proof_header.is_some() && settings.proof != By::Token {
        return invalid("proof_header: it goes with proof = \"token\"");
    }
    if id_header.is_some() && settings.proof == By::Standard {
        return invalid("id_header: leave it out; the standard's is webhook-id, which is signed");
    }
    // What proves who posts would stand in every turn as the delivery's id.
    if let Some(name) = &id_header
        && (SECRETS.contains(&name.as_str()) || Some(name) == proof_header.as_ref())
    {
        return invalid(&format!(
            "id_header: {name} proves who posts, and is no delivery's id: name the header that has it, such as X-Request-Id, or leave id_header out"
        ));
    }
    let proof = match settings.proof {
        By::Standard => Proof::standard(&secrets)
            .map_err(|why| OpenError::Invalid(format!("proof_secrets, {named}: {why}")))?,
        By::Token | By::Github if secrets.iter().any(|one| one.expose().chars().count() < LEAST_CHARS) => {
            return invalid(&format!(
                "proof_secrets, {named}: at least {LEAST_CHARS} characters; make one and give it to the sender too: \
                 (umask 077; openssl rand -hex 32 > FILE)"
            ));
        }
        By::Token => Proof::token(&secrets, proof_header),
        By::Github => Proof::github(&secrets),
    };
    let text_at = settings.text_at.as_deref().map(Pointer::parse).transpose();
    let text_at = text_at.map_err(|why| OpenError::Invalid(format!("text_at: {why}")))?;
    let trusted = settings.trust == Trust::Known;
    Ok(Some(Taking { id_header, text_at, trusted, ..Taking::new(account, proof) }))
}

fn secrets(sources: &[SecretSource]) -> Result<Vec<Secret>, OpenError> {
    if !(1..=MAX_SECRETS).contains(&sources.len()) {
        return invalid(&format!(
            "proof_secrets: name 1 to {MAX_SECRETS} secrets to receive, such as [\"file:secrets/hook\"], or set receive = false"
        ));
    }
    Ok(sources.iter().map(SecretSource::read).collect::<Result<_, _>>()?)
}

fn header(key: &str, name: &str) -> Result<HeaderName, OpenError> {
    name.parse().map_err(|_| OpenError::Invalid(format!("{key}: {name:?} is no name of a header")))
}

fn invalid<T>(why: &str) -> Result<T, OpenError> {
    Err(OpenError::Invalid(why.to_owned()))
}
