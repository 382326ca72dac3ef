//! What the build scripts of the runners share.
//!
//! - [`release`]: which firmware this build is, and whose releases it takes: version, time and first root;
//! - [`development`]: the root of a build that was given none.
//!
//! A build script calls [`write_release`], which writes a file of constants into the script's `OUT_DIR`. The runner includes it:
//!
//! ```text
//! mod release {
//!     include!(concat!(env!("OUT_DIR"), "/release.rs"));
//! }
//! ```

pub mod development;
pub mod release;

use std::{env, fs, io, path::Path};

use release::Release;

/// Why a build cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Of the environment's variables.
    #[error("{variable}={value}: {problem}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What it has.
        value: String,
        /// What to do about it.
        problem: &'static str,
    },
    /// A file.
    #[error("{path}: {error}")]
    File {
        /// Where it is.
        path: String,
        /// What happened.
        error: io::Error,
    },
}

/// Writes `release.rs`: [`Release::constants`] of this build. The build script runs again when what it reads changes.
///
/// # Errors
///
/// A version, a time or a root that is none: a device with it would take no update.
pub fn write_release() -> Result<(), BuildError> {
    for variable in release::VARIABLES {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    if let Some(file) = env::var_os(release::ROOT) {
        println!("cargo:rerun-if-changed={}", Path::new(&file).display());
    }
    let release = Release::read(|name| env::var(name).ok())?;
    let path = Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("release.rs");
    fs::write(&path, release.constants())
        .map_err(|error| BuildError::File { path: path.display().to_string(), error })
}
