//! A service that speaks as OpenAI's does: `POST {base}/audio/speech` with a JSON object, answered with the recording
//! (<https://platform.openai.com/docs/api-reference/audio/createSpeech>). Many that run at home speak so too.

use std::time::Duration;

use reqwest::{Client, StatusCode, Url};
use serde_json::json;

use super::{MAX_RECORDING, VoiceError};
use crate::settings::secret::Secret;

/// A service.
#[derive(Clone)]
pub struct Endpoint {
    /// Makes requests.
    pub client: Client,
    /// What stands before `/audio/speech`.
    pub base: Url,
    /// What it knows the hub by.
    pub token: Option<Secret>,
    /// Which of its models speaks.
    pub model: String,
    /// With whose voice.
    pub voice: String,
}

impl Endpoint {
    /// Its host, for people: the whole address may hold a secret.
    pub(super) fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The recording that it makes of `words`.
    pub(super) async fn speak(&self, words: &str, timeout: Duration) -> Result<Vec<u8>, VoiceError> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .expect("an http URL has a path: it was checked when it was read")
            .pop_if_empty()
            .extend(["audio", "speech"]);
        let body = json!({
            "model": self.model, "input": words, "voice": self.voice, "response_format": "opus",
        });
        let mut request = self.client.post(url).timeout(timeout).json(&body);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        let plain = |error: reqwest::Error| VoiceError::Reach(error.without_url());
        let mut answer = request.send().await.map_err(plain)?;
        if answer.status() != StatusCode::OK {
            return Err(VoiceError::Status(answer.status().as_u16()));
        }
        let mut recording = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(plain)? {
            if recording.len() + chunk.len() > MAX_RECORDING {
                return Err(VoiceError::Large);
            }
            recording.extend_from_slice(&chunk);
        }
        Ok(recording)
    }
}
