//! Where a contract is played: a folder, a secret's file, and a platform that follows a script.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use gatepost_link::Digest;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{Age, Contract};
use crate::{
    channels::{
        Adapter,
        account::{OpenError, Opening},
        discord::{self, Step},
        email,
        hub_handle::HubHandle,
        registry::{self, Kind},
        testing::http::{Mock, Reply, http, nobody},
    },
    message::attachment::Attachment,
    store::Store,
};

/// A platform and what it does.
pub(in crate::channels) enum Script {
    /// Speaks HTTP.
    Http(Vec<Reply>),
    /// Speaks SMTP, and goes along with all but this.
    Smtp(&'static [(&'static str, email::mock::Step)]),
    /// Keeps a connection open over which it goes so, with whoever has this token.
    Gateway(&'static str, &'static [Step]),
    /// A program, as a shell reads it.
    Program(&'static str),
    /// Nobody is there.
    Nobody,
    /// The hub itself.
    Hub,
}

enum Platform {
    Http(Mock, usize),
    Smtp(email::mock::Mock),
    Gateway(discord::Mock),
    Program,
    Other,
}

/// The stage.
pub(crate) struct Stage {
    /// Where the platform listens.
    pub(in crate::channels) port: u16,
    folder: TempDir,
    store: Store,
    platform: Platform,
}

impl Stage {
    /// Sets it.
    pub(super) fn set(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("data")).unwrap();
        let (platform, port) = match script {
            Script::Http(script) => {
                let (answers, mock) = (script.len(), Mock::start(&script));
                let port = mock.port;
                (Platform::Http(mock, answers), port)
            }
            Script::Smtp(script) => {
                let mock = email::mock::Mock::upgrading(script);
                let port = mock.port;
                (Platform::Smtp(mock), port)
            }
            Script::Gateway(token, script) => {
                let mock = discord::Mock::start(token, &[script]);
                let port = mock.port;
                (Platform::Gateway(mock), port)
            }
            Script::Program(lines) => {
                let program = folder.path().join("program");
                let log = folder.path().join("log");
                let lines = format!("#!/bin/sh\necho \"$@\" >>'{}'\n{lines}\n", log.display());
                fs::write(&program, lines).unwrap();
                fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
                (Platform::Program, 0)
            }
            Script::Nobody => (Platform::Other, nobody()),
            Script::Hub => (Platform::Other, 0),
        };
        Self { port, folder, store, platform }
    }

    /// An account on it.
    pub(super) fn open(&self, contract: &Contract) -> Arc<dyn Adapter> {
        self.write_secret(contract, Age::Old);
        let settings = toml::from_str(&(contract.settings)(self)).unwrap();
        let kind = registry::kind(contract.channel).unwrap();
        self.open_with(kind, settings).unwrap_or_else(|error| panic!("{}: {error}", contract.name()))
    }

    /// An account with these settings.
    pub(super) fn open_with(
        &self,
        kind: &Kind,
        settings: toml::Table,
    ) -> Result<Arc<dyn Adapter>, OpenError> {
        (kind.open)(Opening { account: "a", settings, http: http(), store: self.store.clone() })
    }

    /// Lets an account keep its connection, where the platform is at its other end; until the set is dropped.
    pub(super) fn listen(&self, adapter: &Arc<dyn Adapter>) -> JoinSet<()> {
        let mut listening = JoinSet::new();
        if let Platform::Gateway(_) = self.platform {
            let adapter = adapter.clone();
            listening.spawn(async move { adapter.listen(&Empty).await });
        }
        listening
    }

    /// Writes the secret down, in the other's place if there is one.
    pub(super) fn write_secret(&self, contract: &Contract, age: Age) {
        if let Some(secret) = contract.secret {
            fs::write(self.secret(), secret(self, age)).unwrap();
        }
    }

    /// Stages a file.
    pub(super) fn stage(&self, name: &str, kind: &str, bytes: &[u8]) -> Attachment {
        let file = crate::channels::testing::sample::file(name, kind, bytes);
        fs::create_dir_all(self.files()).unwrap();
        fs::write(self.files().join(Digest::of(bytes).to_string()), bytes).unwrap();
        file
    }

    /// Where staged files are.
    pub(super) fn files(&self) -> PathBuf {
        self.store.directory().join("files")
    }

    /// The secret's file.
    pub(in crate::channels) fn secret(&self) -> PathBuf {
        self.folder.path().join("secret")
    }

    /// The program, where there is one.
    pub(in crate::channels) fn program(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// Writes a file that an account's settings name.
    pub(in crate::channels) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// What the platform heard.
    pub(crate) fn heard(&self) -> Vec<String> {
        match &self.platform {
            Platform::Http(mock, _) => mock.heard(),
            Platform::Smtp(mock) => mock.heard(),
            Platform::Gateway(mock) => mock.heard(3).iter().map(Value::to_string).collect(),
            Platform::Program | Platform::Other => lines(&self.folder.path().join("log")),
        }
    }

    /// Waits until the platform has heard all that its script is about.
    pub(super) async fn has_heard_all(&self) {
        let all = || match &self.platform {
            Platform::Http(mock, answers) => mock.heard().len() >= *answers,
            Platform::Smtp(mock) => mock.heard().iter().any(|line| line == "."),
            // What it does before a message, it answers.
            Platform::Program => {
                let asked = lines(&self.folder.path().join("program.asked"));
                asked.iter().any(|line| line.contains("\"send\""))
            }
            Platform::Gateway(_) | Platform::Other => !self.heard().is_empty(),
        };
        let heard = async {
            while !all() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), heard).await.expect("it was asked");
    }
}

/// A hub that knows of no messages.
struct Empty;

#[async_trait]
impl HubHandle for Empty {}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}
