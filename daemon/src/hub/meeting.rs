//! Where the hub and its companions meet: at a broker that somebody runs, or at the embedded one.

use super::HubError;
use crate::{
    companion::{
        broker::{Address, Broker, MEETING, Named},
        logins::Logins,
        tls::Trust,
    },
    config::{self, Config},
    settings::secret::Secret,
};

/// The broker's address for the hub itself.
pub(super) struct Meeting {
    pub(super) address: Address,
    /// The embedded broker and its logins, unless somebody runs another.
    pub(super) embedded: Option<(Broker, Logins)>,
}

/// The broker to meet companions at: the embedded one, started, with its logins, or the one that somebody runs.
pub(super) fn meet(
    config: &Config,
    users: &[(String, Secret)],
    connections: usize,
) -> Result<Meeting, HubError> {
    if let Some(address) = broker_elsewhere(config)? {
        return Ok(Meeting { address, embedded: None });
    }
    let broker = &config.broker;
    let password = Secret::from(crate::random::hex::<16>().as_str());
    let logins = Logins::default();
    logins.fix("hub", &password);
    users.iter().for_each(|(user, secret)| logins.fix(user, secret));
    let running = Broker::start(broker.listen, logins.clone(), connections)?;
    let address = Address {
        named: MEETING,
        host: broker.listen.ip().to_string(),
        port: broker.listen.port(),
        login: Some(("hub".into(), password)),
        tls: None,
        has_certificate: false,
    };
    Ok(Meeting { address, embedded: Some((running, logins)) })
}

/// The broker that somebody runs; nothing, if the embedded one is used.
pub fn broker_elsewhere(config: &Config) -> Result<Option<Address>, HubError> {
    elsewhere(&config.broker, MEETING)
}

/// The broker that somebody runs at the address that this section names; nothing, if it names none.
pub(super) fn elsewhere(broker: &config::Broker, named: Named) -> Result<Option<Address>, HubError> {
    let Some(url) = &broker.url else { return Ok(None) };
    let login = match (&broker.user, &broker.password) {
        (Some(user), Some(password)) => Some((user.clone(), password.read()?)),
        _ => None,
    };
    let trust =
        Trust { named, ca: broker.ca.as_deref(), own: broker.cert.as_deref().zip(broker.key.as_ref()) };
    Ok(Some(Address::elsewhere(url, login, trust)?))
}
