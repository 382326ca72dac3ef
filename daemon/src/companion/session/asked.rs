//! What a companion's frames ask of the hub.

use gatepost_link::{
    RequestId,
    decision::Decision,
    frame::{Part, Progress, Refusal, Running},
    session::SessionHash,
    update::ImageId,
};

/// What a frame asks of the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Nothing more.
    Nothing,
    /// A new session began: offer what waits.
    Begun,
    /// Verify this decision, given in this session.
    Decide(SessionHash, Decision),
    /// The agent whose message was denied there last is not to ask for a while.
    Mute(RequestId),
    /// The companion cannot show a request, for a reason that will not pass.
    CannotShow(RequestId, Refusal),
    /// The companion's display works, or does not.
    Display {
        /// Whether it does.
        works: bool,
        /// Whether the audit should have it: not of a display that comes and goes all the time.
        tell: bool,
    },
    /// The companion says what it runs.
    Running(Running),
    /// It asks for a part of a release.
    FetchBlock {
        /// Of its list or of its image.
        part: Part,
        /// Where it begins.
        offset: u32,
        /// How many bytes.
        length: u16,
    },
    /// It says how far it is with a release.
    Update {
        /// The release's image.
        image: ImageId,
        /// How far.
        progress: Progress,
    },
}
