//! An answer in which people's words stand, of which nobody knows how long they are.
//!
//! If what somebody wrote makes it unreadable, it is so each time: that must not look like a failure after which it is asked again, or
//! one person ends the reading for all.

use reqwest::Response;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Http, Silence};

/// What came.
#[derive(Debug)]
pub enum Within {
    /// JSON.
    Json(Value),
    /// It is there, and what people wrote makes it unreadable: it is too long, or has a text that is none.
    Unreadable,
    /// It is no JSON: it is not from who was asked.
    Other,
}

impl Http {
    /// Reads an answer, of at most so many bytes.
    ///
    /// # Errors
    /// It broke off.
    pub async fn within(&self, mut response: Response, most: usize) -> Result<Within, Silence> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.silence(error))? {
            if body.len() + chunk.len() > most {
                return Ok(Within::Unreadable);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(match serde_json::from_slice(&body) {
            Ok(answer) => Within::Json(answer),
            // Half of a surrogate pair, or too many levels: as JSON it is whole, and anybody can write it.
            Err(_) if serde_json::from_slice::<IgnoredAny>(&body).is_ok() => Within::Unreadable,
            Err(_) => Within::Other,
        })
    }
}
