//! What people write to the account, over signal-cli's stream of events.
//!
//! signal-cli hands an event to whoever listens at that moment. Releases up to 0.14 do so once and keep nothing; the next ones (commit
//! 13d603d) have ids, keep the last thousand in memory, and repeat those behind the id that they are told (`Last-Event-ID`). So an
//! event is on disk before the next is read, and its id with it. With `--receive-mode=on-connection` what nobody listens for stays with
//! Signal; without it, it is lost: `mode` finds that out.
//!
//! - `frames`: bytes as events; `envelope`: an event as what somebody did; `words`: what a message says;
//! - `names`: what people and groups are called; `revisions`: under which id an edited message came first;
//! - `files`: files, fetched at once; `mode`: whether something is lost while the hub is away;
//! - `listen`: the loop over all of it; `signs`: what others see of the account meanwhile.

mod envelope;
mod files;
mod frames;
mod listen;
mod mode;
mod names;
mod revisions;
mod signs;
#[cfg(test)]
mod tests;
mod words;

pub use self::envelope::Me;
use self::{
    frames::{Frame, Frames},
    names::Names,
};
pub(super) use self::{
    listen::{Listener, Tempo},
    signs::TYPING,
};
use crate::channels::received::{Dropped, Received};

/// What the bytes of a stream tell, for tests with any bytes: what an account would hand over, without its files.
pub fn read(bytes: &[u8], me: &Me) -> (Vec<Received>, Vec<Dropped>) {
    let (mut received, mut dropped, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    Frames::default().feed(bytes, &mut frames);
    for frame in frames {
        let Frame::Event { data, .. } = frame else { continue };
        match envelope::read(&serde_json::from_slice(&data).unwrap_or_default(), me, &Names::default()) {
            Ok(draft) => received.push(draft.received),
            Err(not) => dropped.push(not),
        }
    }
    (received, dropped)
}
