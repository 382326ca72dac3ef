//! How agents are brought their turns, built from the configuration.

use std::{collections::BTreeMap, time::Duration};

use super::HubError;
use crate::{
    channels::kit::http::{signature::Secrets, token::Token},
    config::{Config, wake::Way as Configured},
    intake::wake::{Waker, Way, command::Command, openai::Model, url::Service},
    program::Program,
    settings::secret::SecretError,
};

/// A request is over when its turn's time is; that of the client only ends what is left of it.
const BEYOND: Duration = Duration::from_secs(10);

/// Whether agents can be brought their turns as the configuration says: its secrets are read, and nobody is called.
///
/// # Errors
/// One of them cannot.
pub fn check_wakes(config: &Config) -> Result<(), HubError> {
    wakers(config).map(drop)
}

/// The agents whose turns the hub itself works at, by a program or a model: what they were at ends with it. A service, or a program
/// that asks, goes on without it.
pub(super) fn worked_for(config: &Config) -> Vec<String> {
    let by_the_hub = |name: &String| match config.checked().wakes.get(name) {
        Some(Configured::Command { .. } | Configured::OpenAi(_)) => true,
        Some(Configured::Url { .. }) | None => false,
    };
    config.wake.iter().filter(|(name, _)| by_the_hub(name)).map(|(_, wake)| wake.agent.clone()).collect()
}

/// All of the configuration, by their names.
pub(super) fn wakers(config: &Config) -> Result<BTreeMap<String, Waker>, HubError> {
    let mut wakers = BTreeMap::new();
    for (name, wake) in &config.wake {
        // Whatever there is has been checked.
        let Some(configured) = config.checked().wakes.get(name) else { continue };
        let client = || super::http().timeout(wake.timeout.0 + BEYOND).no_proxy().build();
        let failed = |key: &str, why: String| HubError::Wake(format!("wake.{name}.{key}"), why);
        let unread = |key: &'static str| move |error: SecretError| (key, error.to_string());
        let way = match configured {
            Configured::Command { path, arguments, input } => {
                let program = Program { path: path.clone(), arguments: arguments.clone() };
                Way::Command(Command { program, input: *input })
            }
            Configured::Url { url, secret } => {
                let secrets = Secrets::read(secret.clone(), &[]).map_err(unread("secret"));
                let secrets = secrets.and_then(|secrets| match secrets.sign("", 0, "") {
                    Ok(_) => Ok(secrets),
                    Err(why) => Err(("secret", format!("the secret in {secret}: {why}"))),
                });
                let secrets = secrets.map_err(|(key, why)| failed(key, why))?;
                Way::Url(Service { client: client()?, url: url.clone(), secrets })
            }
            Configured::OpenAi(model) => {
                let token = model.token.clone().map(Token::read).transpose().map_err(unread("token"));
                Way::OpenAi(Model {
                    client: client()?,
                    base: model.base.clone(),
                    token: token.map_err(|(key, why)| failed(key, why))?,
                    model: model.model.clone(),
                    prompt: model.prompt.clone(),
                    max_tokens: model.max_tokens,
                    history: model.history,
                })
            }
        };
        let (agent, fingerprint) = (wake.agent.clone(), format!("{wake:?}"));
        let waker = Waker { agent, way, timeout: wake.timeout.0, at_once: wake.at_once, fingerprint };
        wakers.insert(name.clone(), waker);
    }
    Ok(wakers)
}
