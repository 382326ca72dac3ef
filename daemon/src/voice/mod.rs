//! A voice for what an agent says: a text becomes a recording, Ogg Opus, the form in which platforms take voice messages.
//!
//! A voice is a convenience and may fail; what fails here says why, and whoever asked still has the text. So everything is
//! bounded: the text, the recording, the time, and how many are spoken at once. What comes back counts only if it is a whole
//! recording ([`recording`]), whoever made it.
//!
//! - [`command`]: programs of this machine, `espeak-ng` and `opusenc` where nobody says otherwise;
//! - [`endpoint`]: a service that speaks as OpenAI's does;
//! - [`recording`]: whether something is Ogg Opus, and how long it lasts.

pub mod command;
pub mod endpoint;
pub mod recording;

#[cfg(test)]
pub(crate) use recording::tests::recording as sample;
use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

use crate::{
    blocking,
    channels::formats,
    program::{Program, ProgramError},
    render,
};
use endpoint::Endpoint;

/// The longest recording, in bytes: at 24 kbit/s forty minutes, at the 128 kbit/s of generous services eight.
pub const MAX_RECORDING: usize = 8 * 1024 * 1024;
/// Texts that are spoken at once: a hub of four cores has other things to do too.
const AT_ONCE: usize = 2;

/// Who speaks.
#[derive(Clone)]
pub enum Speaker {
    /// Programs, each reading what the one before it writes: the text goes in, the recording comes out.
    Programs(Vec<Program>),
    /// A service.
    Endpoint(Endpoint),
}

/// The hub's voice. Clones share it.
#[derive(Clone)]
pub struct Voice(Option<Arc<Shared>>);

struct Shared {
    speaker: Speaker,
    bounds: Bounds,
    at_once: Semaphore,
}

/// How much is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The longest text, in characters.
    pub max_text: usize,
    /// How long speaking one may take, waiting for its turn included.
    pub timeout: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        // What OpenAI's endpoint takes (https://platform.openai.com/docs/api-reference/audio/createSpeech, `input`); about
        // five minutes of speech.
        Self { max_text: 4096, timeout: Duration::from_secs(30) }
    }
}

/// Markdown as one reads it aloud; none where there is nothing to read.
pub fn words_of(text: &str) -> Option<String> {
    blocking::expect_off_runtime(text.len());
    let parts = render::render(&render::parse(text), &formats::PLAIN).ok()?;
    let text = parts.into_iter().map(|part| part.text).collect::<Vec<_>>().join("\n\n");
    (!text.trim().is_empty()).then_some(text)
}

/// Why nothing was spoken.
#[derive(Debug, thiserror::Error)]
pub enum VoiceError {
    /// Nobody speaks here.
    #[error("no voice is set up")]
    Off,
    /// There are no words in it.
    #[error("there are no words to speak")]
    Blank,
    /// Too much.
    #[error("the text has {0} characters, and at most {1} are spoken")]
    Long(usize, usize),
    /// It took too long.
    #[error("it was not spoken within {} s", .0.as_secs())]
    Late(Duration),
    /// A program failed.
    #[error("the voice failed: {0}")]
    Program(#[from] ProgramError),
    /// The service cannot be reached, or broke off.
    #[error("the voice cannot be reached: {0}")]
    Reach(#[source] reqwest::Error),
    /// The service refused.
    #[error("the voice answered with HTTP status {0}")]
    Status(u16),
    /// The recording has no end.
    #[error("the recording has more than {MAX_RECORDING} bytes")]
    Large,
    /// It is none.
    #[error("what the voice gave is no recording: {0}")]
    NoRecording(&'static str),
}

impl VoiceError {
    /// Whether the same text may be spoken later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Late(_) | Self::Program(_) | Self::Reach(_) | Self::NoRecording(_) => true,
            Self::Status(status) => *status >= 500 || *status == 429,
            Self::Off | Self::Blank | Self::Long(..) | Self::Large => false,
        }
    }
}

impl Voice {
    /// No voice.
    pub const OFF: Self = Self(None);

    /// A voice.
    pub fn new(speaker: Speaker, bounds: Bounds) -> Self {
        Self(Some(Arc::new(Shared { speaker, bounds, at_once: Semaphore::new(AT_ONCE) })))
    }

    /// Whether there is one.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The longest text that is spoken, in characters.
    pub fn longest(&self) -> usize {
        self.0.as_deref().map_or(0, |shared| shared.bounds.max_text)
    }

    /// Who speaks, for people.
    pub fn describe(&self) -> String {
        match self.0.as_deref().map(|shared| &shared.speaker) {
            None => "none, what was to be spoken is sent as text".into(),
            Some(Speaker::Endpoint(endpoint)) => format!("the service at {}", endpoint.host()),
            Some(Speaker::Programs(programs)) => {
                let name = |program: &Program| program.path.display().to_string();
                programs.iter().map(name).collect::<Vec<_>>().join(" and ")
            }
        }
    }

    /// Speaks `words`; the recording.
    ///
    /// # Errors
    /// There is no voice, the text is too long for it, or it failed. Nothing is lost by that: the words are the caller's.
    pub async fn speak(&self, words: &str) -> Result<Vec<u8>, VoiceError> {
        let shared = self.0.as_deref().ok_or(VoiceError::Off)?;
        let Bounds { max_text, timeout } = shared.bounds;
        let words = spoken(words);
        match words.chars().count() {
            0 => return Err(VoiceError::Blank),
            length if length > max_text => return Err(VoiceError::Long(length, max_text)),
            _ => {}
        }
        let speaking = async {
            let _one = shared.at_once.acquire().await.expect("the semaphore is never closed");
            match &shared.speaker {
                Speaker::Programs(programs) => command::speak(programs, &words).await,
                Speaker::Endpoint(endpoint) => endpoint.speak(&words, timeout).await,
            }
        };
        let recording =
            tokio::time::timeout(timeout, speaking).await.map_err(|_| VoiceError::Late(timeout))??;
        recording::length(&recording).map_err(VoiceError::NoRecording)?;
        Ok(recording)
    }
}

/// A text without control characters, which programs may take for something else.
fn spoken(words: &str) -> String {
    let plain: String = words.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(script: &str, bounds: Bounds) -> Voice {
        let program = Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        Voice::new(Speaker::Programs(vec![program]), bounds)
    }

    #[tokio::test]
    async fn a_text_is_bounded_before_it_is_spoken_and_the_time_is_too() {
        let bounds = Bounds { max_text: 5, timeout: Duration::from_millis(300) };
        let voice = says("sleep 20", bounds);
        assert!(matches!(voice.speak("ääääää").await, Err(VoiceError::Long(6, 5))));
        assert!(matches!(voice.speak(" \n\u{0}").await, Err(VoiceError::Blank)));
        let begun = std::time::Instant::now();
        assert!(matches!(voice.speak("hello").await, Err(VoiceError::Late(_))));
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(matches!(Voice::OFF.speak("hello").await, Err(VoiceError::Off)));
    }

    #[tokio::test]
    async fn what_is_no_recording_is_never_passed_on() {
        for script in ["cat", "true", "printf 'OggS\\000\\002'", "printf 'RIFF0000WAVEfmt '"] {
            let told = says(script, Bounds::default()).speak("hello").await.unwrap_err();
            assert!(matches!(told, VoiceError::NoRecording(_)) && told.may_pass(), "{script}: {told}");
        }
        let failed = says("exit 7", Bounds::default()).speak("hello").await.unwrap_err();
        assert!(failed.to_string().contains("exit status: 7"), "{failed}");
        let endless = says("exec yes", Bounds::default()).speak("hello").await.unwrap_err();
        assert!(matches!(endless, VoiceError::Large) && !endless.may_pass());
    }

    #[test]
    fn what_is_spoken_has_no_controls() {
        assert_eq!(spoken(" a\u{1b}[2Jb\n\u{0}c\t"), "a[2Jb\nc");
    }
}
