//! A hook that is an HTTP service: the facts are posted to it as JSON, and it answers with status 200.

use super::{HookError, MAX_ANSWER};
use crate::settings::secret::Secret;

/// A service.
#[derive(Clone)]
pub struct Call {
    /// Follows no redirect, and goes through no proxy.
    pub client: reqwest::Client,
    /// Where it is.
    pub url: reqwest::Url,
    /// What it knows the hub by.
    pub token: Option<Secret>,
}

impl Call {
    /// Posts `facts`; what it answered.
    pub(super) async fn post(&self, id: &str, facts: Vec<u8>) -> Result<Vec<u8>, HookError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header("idempotency-key", id)
            .body(facts);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        // Its address may hold a secret, so errors come without it.
        let plain = |error: reqwest::Error| HookError::Reach(error.without_url());
        let mut answer = request.send().await.map_err(plain)?;
        if answer.status() != reqwest::StatusCode::OK {
            return Err(HookError::Failed(format!("HTTP status {}", answer.status().as_u16())));
        }
        let mut written = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(plain)? {
            written.extend_from_slice(&chunk);
            if written.len() > MAX_ANSWER {
                return Err(HookError::Long);
            }
        }
        Ok(written)
    }
}
