//! What changes, once everything is known: the files, the running hub, the agent's token, the companion.
//!
//! What fails before the configuration is in place leaves nothing behind. A running hub that refuses the new configuration gets the
//! old one back. From then on, what fails is told beside what was done, with the command that does it later.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::Value;

use super::{
    companion::Keys,
    plan::Plan,
    writing::{self, is_services},
};
use crate::{
    agents::Role,
    cli::{Failed, agent::Tokens},
    client::{Client, Place, Request},
    config::Config,
    store::{DirectoryLock, owner},
};

/// What became of it all.
pub(super) struct Done {
    pub(super) plan: Plan,
    /// Where the agent's token is; nothing if it had one before.
    pub(super) token: Option<PathBuf>,
    /// Whether a terminal is a companion of this hub now; or why not.
    pub(super) companion: Option<Result<(), String>>,
    /// Whether the hub runs; and then, whether it has to be started anew for some of it.
    pub(super) running: Option<Running>,
}

/// A hub that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Running {
    HasTakenIt,
    MustRestart,
}

/// `keys` are those of a terminal that is made a companion.
pub(super) async fn apply(place: &Place, plan: Plan, keys: Option<Keys>) -> Result<Done, Failed> {
    let path = plan.standing.path.clone();
    let config = &plan.standing.config;
    let runs = DirectoryLock::is_held(&config.hub.data_dir);
    let token_file = token_file(&path, &plan.agent);
    let (mut file, made) = writing::make(&token_file)?;
    let secret = match (&plan.place, &plan.secret) {
        (Some(place), Some(secret)) => Some(writing::write_secret(place, secret)?),
        _ => None,
    };
    let before = plan.standing.before();
    let changed = before != Some(&plan.text);
    if changed {
        writing::replace(&path, before, &plan.text)?;
    }
    let running = match runs {
        false => None,
        true if !changed => Some(Running::HasTakenIt),
        // systemd gives a credential to a unit when it starts.
        true if plan.place.as_ref().is_some_and(|place| place.pointer.starts_with("credential:")) => {
            Some(Running::MustRestart)
        }
        true => match reload(place).await {
            Ok(running) => Some(running),
            Err(error) => {
                match before {
                    Some(before) => writing::replace(&path, Some(&plan.text), before)?,
                    None => std::fs::remove_file(&path).map_err(Failed::refused)?,
                }
                return Err(Failed::Refused(format!(
                    "the hub did not take it, and all is as it was: {error}"
                )));
            }
        },
    };
    if let Some(secret) = secret {
        secret.keep();
    }
    let token = match token(place, config, &plan.agent).await {
        Ok(Some(token)) => {
            writing::fill(&mut file, &format!("{token}\n"), &token_file).map_err(|error| {
                let agent = &plan.agent;
                Failed::Refused(format!(
                    "{error}; nobody has seen the token: gatepost agent revoke {agent}, then gatepost agent add {agent}"
                ))
            })?;
            made.keep();
            Some(token_file)
        }
        Ok(None) => None,
        Err(error) => {
            return Err(Failed::Refused(format!(
                "{} is written, and the agent has no token yet: {error}. Make it with: gatepost agent add {}",
                path.display(),
                plan.agent
            )));
        }
    };
    let companion = match keys {
        Some(keys) => Some(keys.introduce(config).await.map_err(|error| error.to_string())),
        None => None,
    };
    Ok(Done { plan, token, companion, running })
}

/// A file that is not there, for a token.
fn token_file(config: &Path, agent: &str) -> PathBuf {
    let names = std::iter::once(agent.to_owned()).chain((2..).map(|number| format!("{agent}-{number}")));
    let mut files = names.map(|name| {
        let name = format!("{name}.token");
        // The folder of the service's configuration is not the agent's either.
        if is_services(config) { PathBuf::from(name) } else { config.with_file_name(name) }
    });
    files.find(|file| file.symlink_metadata().is_err()).unwrap_or_else(|| "token".into())
}

/// Has the hub read its configuration.
async fn reload(place: &Place) -> Result<Running, Failed> {
    let answer = Client::at(place)?.call(Method::POST, "/v1/reload", Request::default()).await?;
    let later = answer["at_next_start"].as_array().is_some_and(|keys: &Vec<Value>| !keys.is_empty());
    Ok(if later { Running::MustRestart } else { Running::HasTakenIt })
}

/// Makes a token for the agent; nothing if it has one.
async fn token(place: &Place, config: &Config, agent: &str) -> Result<Option<String>, Failed> {
    let make = async {
        let tokens = Tokens::open(place, config).await?;
        let has_one = tokens.list().await?.iter().any(|one| one["name"] == agent);
        if has_one { Ok(None) } else { tokens.add(agent, Role::Agent).await.map(Some) }
    };
    let directory = &config.hub.data_dir;
    if !owner::is_anothers(directory) {
        return make.await;
    }
    // Root becomes that user on a thread of its own, and stays root here.
    let made = owner::as_owner(directory, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failed::refused)?.block_on(make)
    });
    made.map_err(Failed::refused)?
}
