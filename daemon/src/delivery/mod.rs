//! What happens to a message after its row is written and nobody holds it: it joins its lane, leaves part by part, and ends.
//!
//! - [`dispatch`]: who goes next: one message at a time to one conversation, in order, when it is due;
//! - [`lanes`]: which conversations are being worked in; [`pause`]: what platforms say of their limits;
//! - [`send`]: one message's parts, each marked before its request leaves; [`attempt`]: one of them; [`voice_fallback`]: the words of
//!   a recording that is refused;
//! - [`ending`]: what a failed attempt means;
//! - [`actions`]: what the hub itself does in place of a delivery;
//! - [`callbacks`]: what platforms say of their own accord of what was sent;
//! - [`recover`]: what a restart makes of what was on its way;
//! - [`sent_hooks`]: the owner's programs that hear how a message ended.
//!
//! Nothing here knows [`crate::admission`].

pub mod actions;
mod attempt;
pub mod callbacks;
pub mod dispatch;
pub(crate) mod ending;
pub(crate) mod lanes;
mod pause;
pub mod recover;
pub mod send;
pub mod sent_hooks;
pub(crate) mod voice_fallback;
