//! `gatepost agent`.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Failed, output};
use crate::client::{Client, Place, Request};
use crate::{
    agents::{self, AgentError, Role},
    approval::mute::{self, LONGEST},
    config::{Config, Span},
    printing::{PrintError, print_note, print_result},
    settings::is_name,
    store::{DirectoryLock, LockError, Store, StoreError, owner::become_owner},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a token. It is printed once and kept nowhere.
    Add {
        /// The name; for an agent, that of its section in the configuration.
        name: String,
        /// What the token may do.
        #[arg(long, value_enum, default_value = "agent")]
        role: Role,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List who has a token.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a token away, at once.
    Revoke {
        /// Whose.
        name: String,
    },
    /// Have nobody asked about an agent's messages for a while: they are held, and wait.
    #[command(group = clap::ArgGroup::new("how").required(true))]
    Mute {
        /// The agent.
        name: String,
        /// For so long from now on, 24h at most.
        #[arg(long = "for", value_name = "TIME", group = "how", value_parser = |span: &str| Span::try_from(span.to_owned()))]
        time: Option<Span>,
        /// End it: people are asked again.
        #[arg(long, group = "how")]
        end: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(place: &Place, command: Command) -> Result<(), Failed> {
    let config = Config::load(&place.config).map_err(Failed::refused)?;
    let tokens = Tokens::open(place, &config).await?;
    match command {
        Command::Add { name, role, json } => {
            let token = tokens.add(&name, role).await?;
            let printed = match json {
                true => print_result!("{}", json!({"name": name, "role": role, "token": token})),
                false => print_result!("{token}"),
            };
            if let Err(error) = printed {
                return Err(tokens.take_back(&name, error).await);
            }
            print_note!("this is the one time that the token is shown");
            if role == Role::Agent && !config.agents.contains_key(&name) {
                let file = place.config.display();
                print_note!(
                    "{name} may not send anything yet: add [agents.{name}] to {file}, and run: gatepost reload"
                );
            }
        }
        Command::List { json } => {
            let listed = tokens.list().await?;
            if json {
                print_result!("{}", json!(listed))?;
                return Ok(());
            }
            let rows: Vec<Vec<String>> = listed
                .iter()
                .map(|token| {
                    let made = output::moment(output::text(token, "created_at"));
                    vec![output::text(token, "name").into(), output::text(token, "role").into(), made]
                })
                .collect();
            print_result!("{}", output::table(&["NAME", "ROLE", "MADE"], &rows))?;
        }
        Command::Revoke { name } => {
            tokens.revoke(&name).await?;
            print_note!("{name} has no token any more");
        }
        Command::Mute { name, time, end: _, json } => {
            let time = time.map_or(Duration::ZERO, |Span(time)| time);
            if time > LONGEST {
                return Err(Failed::Usage("a mute lasts 24h at most".into()));
            }
            match tokens.mute(&name, time, &config).await? {
                until if json => print_result!("{}", json!({"name": name, "muted_until": until}))?,
                Some(until) => print_note!(
                    "nobody is asked about messages of {name} until {}; what is held meanwhile waits",
                    output::moment(&until)
                ),
                None => print_note!("people are asked about messages of {name} again"),
            }
        }
    }
    Ok(())
}

/// The tokens: in the database while no hub runs, through the hub while one does.
pub(super) enum Tokens {
    Here(Store),
    Hub(Client),
}

impl Tokens {
    pub(super) async fn open(place: &Place, config: &Config) -> Result<Self, Failed> {
        if !DirectoryLock::is_held(&config.hub.data_dir) {
            place.refuse_another_directory(config).await?;
        }
        become_owner(&config.hub.data_dir).map_err(Failed::refused)?;
        match Store::open(&config.hub.data_dir) {
            Ok(store) => Ok(Self::Here(store)),
            Err(StoreError::Lock(LockError::Held(..))) => Ok(Self::Hub(Client::at(place)?)),
            Err(error) => Err(Failed::refused(error)),
        }
    }

    pub(super) async fn add(&self, name: &str, role: Role) -> Result<String, Failed> {
        match self {
            Self::Here(store) => agents::add(store, name, role, "operator").await.map_err(Failed::refused),
            Self::Hub(client) => {
                let request =
                    Request { body: Some(json!({"name": name, "role": role})), ..Request::default() };
                let answer = client.call(Method::POST, "/v1/agents", request).await?;
                Ok(output::text(&answer, "token").to_owned())
            }
        }
    }

    /// Revokes a token that could not be printed: it is kept nowhere, and its name would be taken.
    async fn take_back(&self, name: &str, why: PrintError) -> Failed {
        match self.revoke(name).await {
            Ok(()) => Failed::Refused(format!(
                "{why}; nobody has seen the token, so it was revoked: add {name} again"
            )),
            Err(error) => Failed::Refused(format!(
                "{why}; nobody has seen the token, and it could not be revoked ({error}): run gatepost agent revoke {name}"
            )),
        }
    }

    pub(super) async fn list(&self) -> Result<Vec<Value>, Failed> {
        match self {
            Self::Here(store) => {
                let listed = agents::list(store).await.map_err(Failed::refused)?;
                Ok(listed.iter().map(|token| json!(token)).collect())
            }
            Self::Hub(client) => {
                let answer = client.call(Method::GET, "/v1/agents", Request::default()).await?;
                let mut listed = answer.get("agents").and_then(Value::as_array).cloned().unwrap_or_default();
                // Agents of the configuration are among them that have no token.
                listed.retain(|one| one["created_at"].is_string());
                let shown = |one: &Value| json!({"name": one["name"], "role": one["role"], "created_at": one["created_at"]});
                Ok(listed.iter().map(shown).collect())
            }
        }
    }

    /// Until when it is muted then.
    async fn mute(&self, name: &str, time: Duration, config: &Config) -> Result<Option<String>, Failed> {
        if !is_name(name) {
            return Err(Failed::refused(AgentError::Name(name.into())));
        }
        match self {
            Self::Here(store) => {
                let has_token = agents::has_token(store, name).await.map_err(Failed::refused)?;
                if !config.agents.contains_key(name) && !has_token {
                    return Err(Failed::NotFound(format!("there is no agent {name}")));
                }
                let (until, _) = mute::mute(store, name, time, "operator").await.map_err(Failed::refused)?;
                Ok(until.map(crate::clock::rfc3339))
            }
            Self::Hub(client) => {
                let request =
                    Request { body: Some(json!({"seconds": time.as_secs()})), ..Request::default() };
                let answer = client.call(Method::POST, &format!("/v1/agents/{name}/mute"), request).await?;
                Ok(answer["muted_until"].as_str().map(str::to_owned))
            }
        }
    }

    async fn revoke(&self, name: &str) -> Result<(), Failed> {
        match self {
            Self::Here(store) => agents::revoke(store, name, "operator").await.map_err(|error| match error {
                AgentError::Missing(_) => Failed::NotFound(error.to_string()),
                error => Failed::refused(error),
            }),
            Self::Hub(client) => {
                if !is_name(name) {
                    return Err(Failed::refused(AgentError::Name(name.into())));
                }
                client.call(Method::DELETE, &format!("/v1/agents/{name}"), Request::default()).await?;
                Ok(())
            }
        }
    }
}
