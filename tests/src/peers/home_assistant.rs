//! The real Home Assistant, with its MQTT integration at a broker and what an owner has configured.
//!
//! It is asked by its REST interface (developers.home-assistant.io/docs/api/rest), as its owner. Nothing that it would load for its start page is
//! there: see `peers/homeassistant/start`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use gatepost::random;
use serde_json::{Value, json};
use ureq::http;

use super::{Mosquitto, leash::Leash, ports};
use crate::hub::eventually;

/// It takes some 4 s to start on a quiet machine, and 8 more the first time; a busy one gets far more.
const START: Duration = Duration::from_secs(120);

/// What its owner has written: lists of its automations and its commands, and the blueprints by their names.
#[derive(Debug, Default, Clone)]
pub struct House {
    /// `automations.yaml`.
    pub automations: String,
    /// What stands under `rest_command`.
    pub rest_commands: String,
    /// In `blueprints/automation/gatepost`.
    pub blueprints: Vec<(&'static str, String)>,
}

/// A running Home Assistant.
#[derive(Debug)]
pub struct HomeAssistant {
    leash: Leash,
    port: u16,
    http: ureq::Agent,
    token: String,
}

impl HomeAssistant {
    /// Starts one at this broker.
    ///
    /// # Errors
    /// It is not installed, or did not come up; the error shows the end of its log.
    pub fn start(broker: &Mosquitto, house: &House) -> Result<Self> {
        ports::retrying(|| Self::start_once(broker, house))
    }

    fn start_once(broker: &Mosquitto, house: &House) -> Result<Self> {
        let python = python()?;
        let dir = Leash::folder("home-assistant")?;
        let port = ports::free()?;
        let login = broker.home_assistant_credentials();
        let (secret, key) = (random::hex::<32>(), random::hex::<32>());
        let values = [
            ("PORT", &*port.to_string()),
            ("BROKER", &broker.port().to_string()),
            ("USER", login.username),
            ("PASSWORD", login.password),
            ("TOKEN", &secret),
            ("KEY", &key),
        ];
        let storage = dir.path().join(".storage");
        fs::create_dir(&storage)?;
        for (template, to) in [
            ("homeassistant/configuration.yaml", dir.path().join("configuration.yaml")),
            ("homeassistant/auth.json", storage.join("auth")),
            ("homeassistant/config_entries.json", storage.join("core.config_entries")),
        ] {
            super::fill_in(template, &to, &values)?;
        }
        let or_none =
            |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        fs::write(dir.path().join("automations.yaml"), or_none(&house.automations, "[]\n"))?;
        fs::write(dir.path().join("rest_commands.yaml"), or_none(&house.rest_commands, "{}\n"))?;
        let blueprints = dir.path().join("blueprints/automation/gatepost");
        fs::create_dir_all(&blueprints)?;
        for (name, text) in &house.blueprints {
            fs::write(blueprints.join(name), text)?;
        }
        // It keeps what it has compiled, or each start takes twice as long.
        let environment: [&Path; 3] = ["env".as_ref(), "-u".as_ref(), "PYTHONDONTWRITEBYTECODE".as_ref()];
        let start = super::file("homeassistant/start");
        let program =
            [&*python, &start, "--skip-pip".as_ref(), "--config".as_ref(), dir.path()].map(Path::as_os_str);
        let command: Vec<_> =
            environment.iter().map(|word| word.as_os_str()).chain(program).map(ToOwned::to_owned).collect();
        let mut leash = Leash::start("home-assistant", dir, &command)?;
        let http = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .build()
            .new_agent();
        let mut token = None;
        leash.wait_until(START, || {
            token = log_in(&http, port, &secret).ok();
            token.is_some()
        })?;
        let home = Self { leash, port, http, token: token.context("it gave a token")? };
        home.runs()?;
        Ok(home)
    }

    /// One request: `path` follows `/api/`. Status and body.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}/api/{path}", self.port))
            .header("Authorization", format!("Bearer {}", self.token))
            .header("Content-Type", "application/json");
        let answer = match body {
            Some(body) => self.http.run(request.body(body.to_string())?),
            None => self.http.run(request.body(())?),
        };
        let mut answer = answer.with_context(|| format!("Home Assistant did not answer {method} {path}"))?;
        let body = answer.body_mut().read_to_string()?;
        Ok((answer.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::String(body))))
    }

    /// Waits until it has loaded everything.
    fn runs(&self) -> Result<()> {
        eventually("Home Assistant runs", || {
            let config = self.ask("GET", "config", None).ok();
            Ok(config.filter(|(_, config)| config["state"] == "RUNNING").map(drop))
        })
    }

    /// All entities, by their ids.
    ///
    /// # Errors
    /// No answer.
    pub fn entities(&self) -> Result<BTreeMap<String, Value>> {
        let (status, all) = self.ask("GET", "states", None)?;
        ensure!(status == 200, "{status}: {all}");
        let all = all.as_array().context("a list of states")?;
        Ok(all
            .iter()
            .map(|one| (one["entity_id"].as_str().unwrap_or_default().to_owned(), one.clone()))
            .collect())
    }

    /// Waits until an entity is as wanted; how it is then.
    ///
    /// # Errors
    /// It did not become so; the error has how it is.
    pub fn entity_when(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let look = || anyhow::Ok(self.entities()?.remove(id));
        eventually(id, || Ok(look()?.filter(&wanted)))
            .with_context(|| format!("{id} is {:?}\n{}", look().ok().flatten(), self.leash.log_tail()))
    }

    /// Waits until an entity has this state.
    ///
    /// # Errors
    /// It did not come to it.
    pub fn is(&self, id: &str, state: &str) -> Result<Value> {
        self.entity_when(id, |one| one["state"] == state)
    }

    /// What a template says.
    ///
    /// # Errors
    /// It is none.
    pub fn template(&self, text: &str) -> Result<String> {
        let (status, said) = self.ask("POST", "template", Some(&json!({"template": text})))?;
        ensure!(status == 200, "{status}: {said}");
        Ok(said.as_str().map_or_else(|| said.to_string(), str::to_owned))
    }

    /// Calls an action, `domain.name`; status and answer.
    ///
    /// # Errors
    /// No answer.
    pub fn call(&self, action: &str, data: &Value) -> Result<(u16, Value)> {
        self.ask("POST", &format!("services/{}", action.replace('.', "/")), Some(data))
    }

    /// Calls an action that must succeed.
    ///
    /// # Errors
    /// It did not.
    pub fn calls(&self, action: &str, data: &Value) -> Result<()> {
        let (status, said) = self.call(action, data)?;
        ensure!(status == 200, "{action} {data}: {status}: {said}");
        Ok(())
    }

    /// Sets what an entity is, as if it were one.
    ///
    /// # Errors
    /// It was not taken.
    pub fn set(&self, id: &str, state: &str) -> Result<()> {
        let (status, said) = self.ask("POST", &format!("states/{id}"), Some(&json!({"state": state})))?;
        ensure!(status == 200 || status == 201, "{id}: {status}: {said}");
        Ok(())
    }

    /// Starts it again, over what it has kept.
    ///
    /// # Errors
    /// It did not come up again.
    pub fn restart(&self) -> Result<()> {
        // What is set so goes with the process.
        let mark = "states/sensor.before";
        self.set("sensor.before", "here")?;
        // It may be gone before it answers.
        let _ = self.call("homeassistant.restart", &json!({}));
        eventually("Home Assistant has gone", || {
            Ok(self.ask("GET", mark, None).ok().filter(|(status, _)| *status == 404).map(drop))
        })?;
        self.runs()
    }

    /// The warnings and errors of its log that are about what the hub has to do with, each with the traceback that follows it.
    ///
    /// # Errors
    /// The file system's.
    pub fn complaints(&self) -> Result<Vec<String>> {
        let log = fs::read_to_string(self.leash.dir().join("home-assistant.log"))?;
        let about = ["mqtt", "template", "automation", "blueprint", "notify", "rest_command"];
        let mut entries: Vec<String> = Vec::new();
        for line in log.lines() {
            // An entry begins with its date; what does not goes on with the one before.
            match entries.last_mut().filter(|_| !line.starts_with("20")) {
                Some(entry) => *entry = format!("{entry}\n{line}"),
                None => entries.push(line.to_owned()),
            }
        }
        entries.retain(|entry| {
            let line = entry.lines().next().unwrap_or_default();
            (line.contains(" WARNING ") || line.contains(" ERROR "))
                && about.iter().any(|word| line.contains(word))
        });
        Ok(entries)
    }
}

/// Where `tests/run` installed it.
fn python() -> Result<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv-homeassistant/bin/python");
    if !python.exists() {
        bail!("{} is missing: run `tests/run --setup-only`", python.display());
    }
    Ok(python)
}

/// A token for the one who has this secret.
fn log_in(http: &ureq::Agent, port: u16, secret: &str) -> Result<String> {
    let form =
        [("grant_type", "refresh_token"), ("refresh_token", secret), ("client_id", "http://127.0.0.1/")];
    let mut answer = http.post(format!("http://127.0.0.1:{port}/auth/token")).send_form(form)?;
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    Ok(answer["access_token"].as_str().context("a token")?.to_owned())
}
