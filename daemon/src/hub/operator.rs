//! The operator's token: a file in the data directory, so that whoever may read it needs no other login.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::HubError;
use crate::{
    agents::{self, AgentError, Role},
    store::Store,
};

const NAME: &str = "operator";

/// Where the token is.
pub fn token_path(directory: &Path) -> PathBuf {
    directory.join("operator.token")
}

/// Makes sure that the file holds a valid operator's token.
pub(super) async fn ensure(store: &Store) -> Result<(), HubError> {
    let path = token_path(store.directory());
    if let Ok(token) = fs::read_to_string(&path)
        && agents::recognise(store, token.trim()).await?.is_some_and(|caller| caller.role == Role::Operator)
    {
        return Ok(());
    }
    match agents::revoke(store, NAME, "hub").await {
        Ok(()) | Err(AgentError::Missing(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let token = agents::add(store, NAME, Role::Operator, "hub").await?;
    let failed = |error| HubError::TokenFile(path.clone(), error);
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(failed)?;
    writeln!(file, "{token}").and_then(|()| file.sync_all()).map_err(failed)
}
