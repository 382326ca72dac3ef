//! `gatepost run`.

use std::{path::Path, time::Duration};

use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};

use super::Failed;
use crate::{
    config::Config,
    hub::{Extras, Hub},
    printing::print_note,
};

pub(super) async fn run(path: &Path) -> Result<(), Failed> {
    let config = Config::load(path).map_err(Failed::refused)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failed::refused)?;
    let mut hub = Hub::start(&config, Extras::default()).await.map_err(Failed::refused)?;
    print_note!("gatepost: ready at http://{}", hub.address());
    tell_systemd(NotifyState::Ready);
    let watchdog = tokio::spawn(pet_the_watchdog());
    let asked = tokio::select! {
        _ = terminate.recv() => true,
        result = tokio::signal::ctrl_c() => result.map(|()| true).map_err(Failed::refused)?,
        () = hub.broken() => false,
    };
    if !asked {
        // Whoever watches over the hub starts it anew, and that takes up what was on its way.
        return Err(Failed::Refused("a part of the hub ended by itself; see the log".into()));
    }
    print_note!("gatepost: stopping");
    tell_systemd(NotifyState::Stopping);
    watchdog.abort();
    hub.stop().await;
    Ok(())
}

/// Without systemd there is nobody to tell, and that is no error.
fn tell_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

async fn pet_the_watchdog() {
    let Some(timeout) = sd_notify::watchdog_enabled().filter(|timeout| !timeout.is_zero()) else { return };
    let mut beat = tokio::time::interval((timeout / 2).max(Duration::from_millis(100)));
    loop {
        beat.tick().await;
        tell_systemd(NotifyState::Watchdog);
    }
}
