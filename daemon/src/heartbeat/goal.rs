//! To whom heartbeats speak, as the configuration says.

/// To whom the text of heartbeats goes, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// To nobody: the agent does what it does by its tools.
    Nobody,
    /// The direct conversation in which an owner last wrote to the agent.
    Last,
    /// This target, with its channel.
    Target {
        /// `channel:address`, maybe with a thread, as it is written.
        to: String,
        /// The channel.
        channel: String,
    },
}
