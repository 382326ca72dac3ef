//! The configurations in documents: each block of TOML is a part of `gatepost.toml`, and `gatepost check` takes it.
//!
//! What a part names is there: secrets in files, in the environment and as credentials, in the form that their channel wants;
//! certificates; lists. Absolute paths of secrets lead into the folder of the check instead.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_tests::hub::gatepost;
use serde_json::json;
use tempfile::TempDir;

/// Bytes of a webhook's secret.
const SECRET_BYTES: usize = 32;

/// A certificate and its key, as PEM; made once.
static PAIR: LazyLock<Result<(String, String), String>> =
    LazyLock::new(|| pair().map_err(|error| format!("{error:#}")));

/// Has `gatepost check` read a part of a configuration.
pub(crate) fn check(text: &str) -> Result<()> {
    let mut part = Part::new()?;
    let text = part.furnished(text)?;
    let file = part.folder.path().join("gatepost.toml");
    fs::write(&file, &text)?;
    let environment: Vec<_> =
        part.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let file = file.to_str().context("UTF-8")?;
    let ended = gatepost(&["--config", file, "check", "--offline"], b"", &environment)?;
    ensure!(ended.status == 0, "{}\n{text}", ended.stderr);
    Ok(())
}

/// What a part of a configuration needs around it.
struct Part {
    folder: TempDir,
    environment: Vec<(String, String)>,
}

impl Part {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let credentials = folder.path().join("credentials");
        fs::create_dir(&credentials)?;
        let credentials = credentials.to_str().context("UTF-8")?.to_owned();
        Ok(Self { folder, environment: vec![("CREDENTIALS_DIRECTORY".into(), credentials)] })
    }

    /// The text, with all that it names being there.
    fn furnished(&mut self, text: &str) -> Result<String> {
        let mut section = String::new();
        let mut furnished = String::new();
        for line in text.lines() {
            let bare = line.trim();
            if bare.starts_with('[') && !bare.contains('=') {
                section = bare.trim_matches(['[', ']']).to_owned();
            }
            let key = line.split_once('=').map_or("", |(key, _)| key.trim());
            let mut line = line.to_owned();
            for value in quoted(&line.clone()) {
                if let Some(other) = self.furnish(&section, key, &value)? {
                    line = line.replace(&format!("\"{value}\""), &format!("\"{other}\""));
                }
            }
            furnished.push_str(&line);
            furnished.push('\n');
        }
        Ok(furnished)
    }

    /// Makes what a value names; what stands in its place, if it is another value.
    fn furnish(&mut self, section: &str, key: &str, value: &str) -> Result<Option<String>> {
        match (value.split_once(':'), key) {
            (Some(("file", path)), _) => {
                let path = path.trim_start_matches('/');
                self.write(path, &secret(section, key)?)?;
                Ok(Some(format!("file:{path}")))
            }
            (Some(("env", name)), _) => {
                self.environment.push((name.to_owned(), secret(section, key)?));
                Ok(None)
            }
            (Some(("credential", name)), _) => {
                self.write(&format!("credentials/{name}"), &secret(section, key)?)?;
                Ok(None)
            }
            (_, "data_dir") => Ok(Some("data".into())),
            (_, "root") if section == "updates" => {
                Ok(Some(gatepost_build::development::path().to_str().context("UTF-8")?.to_owned()))
            }
            (_, "allowlists") => self.write(value, "{\"engineer\": [\"local:*\"]}\n").map(|()| None),
            (_, "ca" | "cert" | "ca_file" | "key") => {
                let (certificate, private) = PAIR.as_ref().map_err(|error| anyhow!("{error}"))?;
                let path = value.trim_start_matches('/');
                self.write(path, if key == "key" { private } else { certificate })?;
                Ok(Some(match value.starts_with('/') {
                    true => self.folder.path().join(path).to_str().context("UTF-8")?.to_owned(),
                    false => path.to_owned(),
                }))
            }
            _ => Ok(None),
        }
    }

    /// Writes a file that its owner alone can read.
    fn write(&self, path: &str, content: &str) -> Result<()> {
        let path: PathBuf = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(&path, content)?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
    }
}

/// The texts in quotation marks on a line, but for those in a comment.
fn quoted(line: &str) -> Vec<String> {
    let mut pieces = line.split('"');
    let mut found = vec![];
    while let Some(before) = pieces.next() {
        if before.contains('#') {
            break;
        }
        found.extend(pieces.next().map(str::to_owned));
    }
    found
}

/// A secret in the form that its key wants.
fn secret(section: &str, key: &str) -> Result<String> {
    let channel = section.strip_prefix("channels.").and_then(|rest| rest.split('.').next()).unwrap_or("");
    Ok(match (channel, key) {
        _ if section.starts_with("wake.") && key == "secret" => {
            format!("whsec_{}", STANDARD.encode([7; SECRET_BYTES]))
        }
        ("webhook", "secret" | "old_secrets" | "proof_secrets") => {
            format!("whsec_{}", STANDARD.encode([7; SECRET_BYTES]))
        }
        ("googlechat", "key") => {
            let (_, private) = PAIR.as_ref().map_err(|error| anyhow!("{error}"))?;
            json!({
                "type": "service_account",
                "client_email": "gatepost@example.iam.gserviceaccount.com",
                "private_key": private,
                "private_key_id": "1",
                "token_uri": "https://oauth2.googleapis.com/token",
            })
            .to_string()
        }
        ("googlechat", "webhook") => "https://chat.googleapis.com/v1/spaces/A/messages?key=k&token=t".into(),
        ("teams", "webhook") => "https://example.org/workflows/1?sig=1".into(),
        ("telegram", _) => format!("123456:{}", "A".repeat(35)),
        _ => "a-secret-of-the-tests".into(),
    })
}

fn pair() -> Result<(String, String)> {
    let folder = tempfile::tempdir()?;
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker.home"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(&folder)
        .output()
        .context("openssl is missing: run `tests/run --setup-only`")?;
    ensure!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join(name));
    Ok((read("cert.pem")?, read("key.pem")?))
}

#[test]
fn a_part_is_checked_with_all_that_it_names() -> Result<()> {
    check("[channels.telegram.home]\ntoken = \"file:/run/secrets/t\" # not \"file:x\"\n")?;
    check("[channels.ntfy.a]\nurl = \"https://ntfy.sh\"\ntoken = \"env:NTFY\"\n")?;
    check("[channels.webhook.a]\nurl = \"https://x.test\"\nsecret = \"credential:hook\"\n")?;
    let error = check("[agents.a]\nallows = [\"local:*\"]\n").expect_err("no such key").to_string();
    assert!(error.contains("unknown key"), "{error}");
    Ok(())
}
