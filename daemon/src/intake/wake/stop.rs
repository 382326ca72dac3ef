//! How runners are told to end.

/// Whether a runner is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is not.
    No,
    /// It takes no more turns.
    Later,
    /// It gives back those that it has.
    Now,
}
