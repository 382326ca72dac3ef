//! The operator's token: a file in the data directory, so that whoever may read it needs no other login.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::HubError;
use crate::{
    agents::{self, AgentError, Role},
    store::{Store, private_file},
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
    private_file::write(&path, format!("{token}\n").as_bytes())
        .map_err(|error| HubError::TokenFile(path, error))
}
