//! Which firmware a build is, and whose releases it will take.
//!
//! All of it comes from the environment of the build, so that the same commit with the same variables is the same image. A root that
//! nobody signed is an error here: on the device it would silently mean that no update is ever taken.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use gatepost_link::update::{Version, root::RootFile};

use crate::{BuildError, development};

/// The variable with the version. Without it: that of the runner's package.
pub const VERSION: &str = "GATEPOST_FIRMWARE_VERSION";
/// The variable with the path of the first root, a [`RootFile`]. Without it: [`development`]'s.
pub const ROOT: &str = "GATEPOST_ROOT";
/// The variable with the time of the build, in seconds since 1970, UTC. Without it: now
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub const TIME: &str = "SOURCE_DATE_EPOCH";
/// All of them.
pub const VARIABLES: [&str; 3] = [VERSION, ROOT, TIME];

/// A build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    version: Version,
    built: u64,
    /// The file with the first root.
    root: PathBuf,
    /// Somebody else may have one of its keys.
    has_public_key: bool,
}

impl Release {
    /// The build that this environment asks for.
    ///
    /// # Errors
    ///
    /// A variable's content is not what it should be.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, BuildError> {
        let name = if variable(VERSION).is_some() { VERSION } else { "CARGO_PKG_VERSION" };
        let version = variable(name).unwrap_or_default();
        let version = Version::new(&version)
            .ok_or_else(|| wrong(name, version, "a version is three numbers below 65536, such as 1.4.0"))?;
        let built = match variable(TIME) {
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            Some(time) => time
                .parse()
                .map_err(|_| wrong(TIME, time, "give the seconds since 1970, such as 1700000000"))?,
        };
        let root = variable(ROOT).unwrap_or_else(|| development::path().display().to_string());
        let (root, has_public_key) = read_root(root)?;
        Ok(Self { version, built, root, has_public_key })
    }

    /// The constants `VERSION` and `VERSION_TEXT`, `BUILT` in seconds since 1970, `ROOT` with the bytes of the first root, and
    /// `HAS_DEVELOPMENT_KEYS`. They need `gatepost-link`.
    pub fn constants(&self) -> String {
        let Self { version, built, root, has_public_key } = self;
        let Version { major, minor, patch } = version;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "pub const VERSION: ::gatepost_link::update::Version =\n    ::gatepost_link::update::Version {{ major: {major}, \
             minor: {minor}, patch: {patch} }};\npub const VERSION_TEXT: &str = \"{version}\";\npub const BUILT: u64 = {built};"
        );
        let _ = writeln!(text, "pub static ROOT: &[u8] = include_bytes!({:?});", root.display().to_string());
        let _ = writeln!(text, "pub const HAS_DEVELOPMENT_KEYS: bool = {has_public_key};");
        text
    }
}

fn wrong(variable: &'static str, value: String, problem: &'static str) -> BuildError {
    BuildError::Variable { variable, value, problem }
}

/// The absolute path of a root that its own keys signed, and whether one of them is public.
fn read_root(path: String) -> Result<(PathBuf, bool), BuildError> {
    let file = |error| BuildError::File { path: path.clone(), error };
    let bytes = fs::read(&path).map_err(file)?;
    let root = RootFile::from_bytes(&bytes);
    let has_public_key = root.as_ref().and_then(RootFile::signed_by_itself).map(development::has_public_key);
    // Build scripts run in their package's folder, and the compiler reads relative to the including file.
    let absolute = Path::new(&path).canonicalize().map_err(file)?;
    let problem = "it is no root that enough of its own keys signed: make one with gatepost-sign";
    has_public_key.map(|public| (absolute, public)).ok_or_else(|| wrong(ROOT, path, problem))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};
    use gatepost_link::{
        decision::{PublicKey, SignatureBytes},
        update::{
            Root,
            root::{MAX_FILE_BYTES, MAX_ROOT_BYTES, Role, Signer},
        },
    };

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Release, String> {
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Release::read(find).map_err(|error| error.to_string())
    }

    /// A root file whose only key has this seed.
    fn root(seed: &[u8; 32]) -> Vec<u8> {
        let key = SigningKey::from_bytes(seed);
        let public = [PublicKey(key.verifying_key().to_bytes())];
        let root = Root::new(1, 0, Role::new(1, &public).unwrap(), Role::new(1, &public).unwrap());
        let signature = SignatureBytes(key.sign(root.to_bytes(&mut [0; MAX_ROOT_BYTES])).to_bytes());
        let file = RootFile::new(root, &[(Signer::This(0), signature)]).unwrap();
        file.to_bytes(&mut [0; MAX_FILE_BYTES]).to_vec()
    }

    #[test]
    fn version_time_and_root_come_from_the_environment() {
        let plain = read(&[("CARGO_PKG_VERSION", "0.1.0"), (TIME, "1700000000")]).unwrap();
        let text = plain.constants();
        for part in [
            "{ major: 0, minor: 1, patch: 0 }",
            "\"0.1.0\"",
            "BUILT: u64 = 1700000000",
            "HAS_DEVELOPMENT_KEYS: bool = true",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("root");
        fs::write(&file, root(&[7; 32])).unwrap();
        let own = [("CARGO_PKG_VERSION", "0.1.0"), (VERSION, "1.2.3"), (ROOT, file.to_str().unwrap())];
        let text = read(&own).unwrap().constants();
        assert!(text.contains("\"1.2.3\"") && text.contains("KEYS: bool = false"), "{text}");
        assert!(text.contains(&format!("{:?}", file.canonicalize().unwrap().to_str().unwrap())), "{text}");
        // A copy of the development root is no root of one's own.
        fs::copy(development::path(), &file).unwrap();
        assert!(read(&own).unwrap().constants().contains("KEYS: bool = true"));
        let now = read(&[("CARGO_PKG_VERSION", "0.1.0")]).unwrap();
        assert!(now.built > 1_700_000_000);
    }

    #[test]
    fn what_no_device_could_use_ends_the_build() {
        let version = ("CARGO_PKG_VERSION", "0.1.0");
        assert!(read(&[]).unwrap_err().contains("CARGO_PKG_VERSION=: a version"));
        assert!(
            read(&[version, (VERSION, "1.2")])
                .unwrap_err()
                .contains("GATEPOST_FIRMWARE_VERSION=1.2: a version")
        );
        assert!(read(&[version, (TIME, "today")]).unwrap_err().contains("SOURCE_DATE_EPOCH=today"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("root");
        assert!(
            read(&[version, (ROOT, file.to_str().unwrap())]).unwrap_err().contains(file.to_str().unwrap())
        );
        // One byte of the signature differs.
        let mut bytes = fs::read(development::path()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        assert!(read(&[version, (ROOT, file.to_str().unwrap())]).unwrap_err().contains("gatepost-sign"));
    }
}
