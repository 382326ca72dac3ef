//! Folders that agents attach files from, held against what no agent may have sent.
//!
//! All that the hub can read beneath such a folder, its agent can have sent. So a folder that the hub's data, its configuration or a
//! secret lies in is refused, and so are the system's own; that was learnt from `attach_from = "."`, beside which the
//! secrets lie. What is merely of no use, or open to others, is a warning.
//!
//! Paths are compared as the kernel would resolve them now. The result is what stays in the configuration: links that appear later
//! lead nowhere.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Component, Path, PathBuf},
};

use super::{Config, ConfigError};
use crate::settings::secret::SecretSource;

/// Folders of the system (<https://refspecs.linuxfoundation.org/FHS_3.0/fhs/index.html>): no agent's own, nor is one above them.
const SYSTEM: &[&str] = &[
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/proc",
    "/root",
    "/run",
    "/sys",
    "/usr",
    "/var",
    "/var/cache",
    "/var/lib",
];

/// Folders beneath which there is no agent's folder either: what is there are the kernel's files, programs, and what other
/// programs write down of people.
const CLOSED: &[&str] = &[
    "/boot",
    "/dev",
    "/etc",
    "/proc",
    "/run/credentials",
    "/run/secrets",
    "/sys",
    "/usr",
    "/var/backups",
    "/var/log",
    "/var/mail",
    "/var/spool",
];

/// Shared memory: a usual place for files that need not last.
const SHARED_MEMORY: &str = "/dev/shm";

/// What others may do with a folder.
const OTHERS_WRITE: u32 = 0o002;

/// Where people keep keys in their home.
const KEYS_AT_HOME: &[&str] = &[".ssh", ".gnupg"];

/// A path as the kernel would resolve it now. Behind a folder that is not there yet, `..` leads back out of it: left as it is, it
/// would lead somewhere that nobody has judged as soon as somebody makes the folder.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            component => real.push(component),
        }
        if let Ok(found) = fs::canonicalize(&real) {
            real = found;
        }
    }
    real
}

impl Config {
    /// Resolves each agent's folder, and refuses one from which it could have sent what is not its own. `file` is the
    /// configuration's own; its other paths are whole already.
    pub(super) fn resolve_folders(&mut self, file: &Path) -> Result<(), ConfigError> {
        let private = self.private_paths(file);
        // Of a file that is named without its folder, the parent is no path at all.
        let own = resolved(file).parent().map(Path::to_owned);
        for (name, agent) in &mut self.agents {
            let Some(folder) = &mut agent.attach_from else { continue };
            *folder = resolved(folder);
            if let Some(problem) = refusal(folder, &private, own.as_deref()) {
                let key = format!("agents.{name}.attach_from");
                let problem =
                    format!("{problem}: give the agent a folder of its own, such as \"/srv/{name}/out\"");
                return Err(ConfigError::Invalid { at: String::new(), key, problem });
            }
        }
        Ok(())
    }

    /// What no agent's folder may have in it.
    fn private_paths(&self, file: &Path) -> Vec<(PathBuf, &'static str)> {
        let secrets = self.secrets().into_iter().filter_map(|source| match source {
            SecretSource::File(path) => Some(path),
            SecretSource::Env(_) | SecretSource::Credential(_) => None,
        });
        let beside = file.parent().unwrap_or(Path::new(""));
        let lists = self.hub.allowlists.as_ref().map(|path| (beside.join(path), "the file of allowlists"));
        let first = [(self.hub.data_dir.clone(), "the hub's data"), (file.to_owned(), "the configuration")];
        let all = first.into_iter().chain(lists).chain(secrets.map(|path| (path, "a secret")));
        all.map(|(path, what)| (resolved(&path), what)).collect()
    }

    /// Folders that can be left as they are, and should not be.
    pub(super) fn doubtful_folders(&self) -> Vec<String> {
        let mut found = vec![];
        for (name, agent) in &self.agents {
            let Some(folder) = &agent.attach_from else { continue };
            let key = format!("agents.{name}.attach_from");
            let at = self.places.at_key(&key);
            found.extend(doubts(folder).into_iter().map(|problem| format!("{at}{key}: {problem}")));
        }
        found
    }
}

/// Why nothing may be attached from a folder, if so. `own` is the configuration's folder: one beneath it is its operator's word.
fn refusal(folder: &Path, private: &[(PathBuf, &'static str)], own: Option<&Path>) -> Option<String> {
    let shown = folder.display();
    if let Some((path, what)) = private.iter().find(|(path, _)| path.starts_with(folder)) {
        return Some(match path == folder {
            true => format!("{shown} is {what}, which the agent could send"),
            false => format!("{what} is in {shown} ({}), and the agent could send it", path.display()),
        });
    }
    if let Some((data, what)) = private.first().filter(|(data, _)| folder.starts_with(data)) {
        return Some(format!("{shown} is in {}, {what}, which the agent could send", data.display()));
    }
    if let Some(system) = SYSTEM.iter().find(|system| Path::new(system).starts_with(folder)) {
        return Some(match Path::new(system) == folder {
            true => format!("{shown} is a folder of the system's"),
            false => format!("{shown} has {system} and other folders of the system in it"),
        });
    }
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Some(format!("{shown} is no folder"));
    }
    if let Some(keys) = KEYS_AT_HOME.iter().find(|keys| folder.iter().any(|part| part == **keys)) {
        return Some(format!("{shown} is where people keep keys ({keys})"));
    }
    let in_own = own.is_some_and(|own| own != folder && folder.starts_with(own));
    if in_own || folder.starts_with(SHARED_MEMORY) {
        return None;
    }
    let closed = CLOSED.iter().find(|closed| folder.starts_with(closed))?;
    Some(format!("{shown} is in {closed}, a folder of the system's"))
}

/// What is not right with a folder.
fn doubts(folder: &Path) -> Vec<String> {
    let shown = folder.display();
    let found = match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return vec![format!(
                "{shown} is not there, so nothing can be attached from it: mkdir -p {shown}"
            )];
        }
        Err(error) => return vec![format!("{shown} cannot be looked at: {error}")],
        Ok(found) => found,
    };
    let mut doubts = vec![];
    if found.permissions().mode() & OTHERS_WRITE != 0 {
        doubts.push(format!("everybody on this machine can put files into {shown}: chmod o-w {shown}"));
    }
    for keys in KEYS_AT_HOME.iter().filter(|keys| folder.join(keys).exists()) {
        doubts.push(format!("{shown} has {keys} in it, and the agent could send the keys there"));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A configuration with a secret, and `out` beside it, whose agent attaches from `folder`.
    fn load(folder: &str) -> (tempfile::TempDir, Result<Config, ConfigError>) {
        let fixture = tempfile::tempdir().unwrap();
        let file = fixture.path().join("gatepost.toml");
        for name in ["secrets", "out", "gatepost-data/files"] {
            fs::create_dir_all(fixture.path().join(name)).unwrap();
        }
        fs::write(fixture.path().join("secrets/t"), "t").unwrap();
        fs::write(fixture.path().join("out/file"), "f").unwrap();
        symlink("out", fixture.path().join("link")).unwrap();
        symlink("..", fixture.path().join("out/up")).unwrap();
        symlink("/etc", fixture.path().join("out/etc")).unwrap();
        let folder = folder.replace("HOUSE", fixture.path().to_str().unwrap());
        let text = format!(
            "[channels.ntfy.home]\nurl = \"http://127.0.0.1:1\"\ntoken = \"file:secrets/t\"\n[agents.a]\nattach_from = \"{folder}\"\n"
        );
        fs::write(&file, text).unwrap();
        let config = Config::load(&file);
        (fixture, config)
    }

    #[test]
    fn a_folder_from_which_an_agent_could_send_what_is_not_its_own_is_refused() {
        for (folder, says) in [
            ("/", "and the agent could send it"),
            (".", "the hub's data is in "),
            ("HOUSE", "the hub's data is in "),
            ("gatepost-data", "is the hub's data, which the agent could send"),
            ("gatepost-data/files", "the hub's data, which the agent could send"),
            ("gatepost-data/new", "the hub's data, which the agent could send"),
            ("secrets", "a secret is in "),
            ("out/up", "the hub's data is in "),
            ("out/../secrets", "a secret is in "),
            ("ghost/../secrets", "a secret is in "),
            ("ghost/../gatepost-data", "is the hub's data, which the agent could send"),
            ("ghost/deeper/../../gatepost-data", "is the hub's data, which the agent could send"),
            ("HOUSE/.ssh", "is where people keep keys (.ssh)"),
            ("out/etc", "/etc is a folder of the system's"),
            ("/etc", "/etc is a folder of the system's"),
            ("/etc/ssl", "is in /etc, a folder of the system's"),
            ("/proc/self", "is in /proc, a folder of the system's"),
            ("/sys/class", "is in /sys, a folder of the system's"),
            ("/dev", "is a folder of the system's"),
            ("/home", "is a folder of the system's"),
            ("/var/lib", "is a folder of the system's"),
            ("/usr/bin", "is in /usr, a folder of the system's"),
            ("/var/log", "is in /var/log, a folder of the system's"),
            ("gatepost.toml", "gatepost.toml is the configuration, which the agent could send"),
            ("out/file", "out/file is no folder"),
        ] {
            let (_house, config) = load(folder);
            let error = config.expect_err(folder).to_string();
            assert!(
                error.contains("gatepost.toml:5: agents.a.attach_from: ") && error.contains(says),
                "{folder}: {error}"
            );
            assert!(error.contains("such as \"/srv/a/out\""), "{error}");
        }
    }

    #[test]
    fn a_folder_of_the_agents_own_is_resolved_and_what_is_of_no_use_is_a_warning() {
        for (folder, resolved, doubt) in [
            ("out", "out", ""),
            ("link", "out", ""),
            ("ghost/../out", "out", ""),
            ("link/new", "out/new", "is not there, so nothing can be attached from it: mkdir -p "),
            ("gatepost.toml/x", "gatepost.toml/x", "cannot be looked at"),
        ] {
            let (fixture, config) = load(folder);
            let (config, fixture) = (config.unwrap(), fixture.path().canonicalize().unwrap());
            assert_eq!(config.agents["a"].attach_from, Some(fixture.join(resolved)), "{folder}");
            let doubts = config.doubtful_folders();
            assert_eq!(doubts.is_empty(), doubt.is_empty(), "{folder}: {doubts:?}");
            assert!(
                doubts.iter().all(|found| found.contains(doubt) && found.contains("gatepost.toml:5: ")),
                "{doubts:?}"
            );
        }
        let (fixture, config) = load("out");
        let (config, out) = (config.unwrap(), fixture.path().join("out"));
        fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
        fs::create_dir(out.join(".ssh")).unwrap();
        let doubts = config.doubtful_folders();
        assert!(
            doubts.len() == 2 && doubts[0].contains("chmod o-w") && doubts[1].contains(".ssh"),
            "{doubts:?}"
        );
        for own in ["/dev/shm/agent", "/srv/agent/out", "/var/lib/agent/out"] {
            assert!(load(own).1.is_ok(), "{own}");
        }
    }
}
