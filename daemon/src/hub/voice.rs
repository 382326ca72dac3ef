//! The voice, built from the configuration.

use super::HubError;
use crate::{
    config::{Config, voice::Speaks},
    program::Program,
    voice::{Speaker, Voice, command, endpoint::Endpoint},
};

/// The voice of the configuration; none where nobody is to speak, or nobody is there who could.
pub fn voice(config: &Config) -> Result<Voice, HubError> {
    let speaker = match &config.checked().speaks {
        Speaks::Nobody => return Ok(Voice::OFF),
        Speaks::Usual(voice) => match command::usual(voice.as_deref()) {
            Some(programs) => Speaker::Programs(programs),
            None => return Ok(Voice::OFF),
        },
        Speaks::Command(path, arguments) => {
            Speaker::Programs(vec![Program { path: path.clone(), arguments: arguments.clone() }])
        }
        Speaks::Url(base, token, model, voice) => {
            let token = token.as_ref().map(|token| token.read()).transpose().map_err(HubError::VoiceToken)?;
            let client = super::http().timeout(config.voice.timeout.0).build()?;
            Speaker::Endpoint(Endpoint {
                client,
                base: base.clone(),
                token,
                model: model.clone(),
                voice: voice.clone(),
            })
        }
    };
    Ok(Voice::new(speaker, config.voice.bounds()))
}
