//! A hook that is a program: JSON on its standard input, its answer on the standard output, exit status 0.

use super::{HookError, MAX_ANSWER};
use crate::program::{self, Program, ProgramError};

/// Runs `program` on `facts`; what it wrote.
pub(super) async fn run(
    program: &Program,
    name: &str,
    id: (&str, &str),
    facts: &[u8],
) -> Result<Vec<u8>, HookError> {
    let written = program::run(std::slice::from_ref(program), &[id], facts, MAX_ANSWER).await;
    written.map_err(|error| match error {
        ProgramError::Run(error) => HookError::Run(error),
        ProgramError::Long(_) => HookError::Long,
        ProgramError::Failed { status, stderr, .. } => {
            tracing::warn!(hook = name, %status, stderr, "a hook did not do well");
            HookError::Failed(status.to_string())
        }
    })
}
