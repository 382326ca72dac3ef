//! Home Assistant's broker, by the configuration.

use std::sync::Arc;

use super::{HubError, meeting};
use crate::{companion::broker::Named, config::Config, homeassistant::Settings};

/// The keys that say where it is.
const NAMED: Named = Named { section: "homeassistant", url: "broker" };

/// What Home Assistant is told, and where; nothing, if the configuration does not say.
///
/// # Errors
/// A secret or a certificate cannot be read.
pub fn home_assistant(config: &Config) -> Result<Option<Arc<Settings>>, HubError> {
    let Some(plan) = config.checked().home_assistant.clone() else { return Ok(None) };
    let failed = |error: HubError| match error {
        HubError::BrokerPassword(error) => {
            HubError::Route("homeassistant.password".into(), error.to_string())
        }
        error => HubError::Route("homeassistant.broker".into(), error.to_string()),
    };
    let address = meeting::elsewhere(&config.homeassistant.as_broker(), NAMED).map_err(failed)?;
    Ok(address.map(|address| Arc::new(Settings { plan, section: config.homeassistant.clone(), address })))
}
