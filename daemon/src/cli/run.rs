//! `gatepost run`. It ends at SIGTERM and SIGINT, and reads its configuration again at SIGHUP.

use std::{path::Path, time::Duration};

use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};

use super::Failed;
use crate::{
    config::Config,
    hub::{Extras, Hub, reload::Reload},
    printing::print_note,
    store::owner,
};

pub(super) async fn run(path: &Path) -> Result<(), Failed> {
    let config = Config::load(path).map_err(Failed::configuration)?;
    config.refuse_everybodys_secrets().map_err(Failed::configuration)?;
    let directory = config.hub.data_dir.display();
    if owner::is_anothers(&config.hub.data_dir) {
        return Err(Failed::Refused(format!(
            "{directory} is another user's, who could not use what root writes there: start the hub as that user (the package's: \
             systemctl start gatepost)"
        )));
    }
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let mut terminate = signal(SignalKind::terminate()).map_err(Failed::refused)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(Failed::refused)?;
    let extras = Extras { file: Some(path.to_owned()), ..Extras::default() };
    let mut hub = Hub::start(&config, extras).await.map_err(|error| match error.is_of_configuration() {
        true => Failed::configuration(error.placed(path)),
        false => Failed::refused(error.placed(path)),
    })?;
    print_note!("gatepost: ready at http://{}", hub.address());
    tell_systemd(&[NotifyState::Ready]);
    let watchdog = tokio::spawn(pet_the_watchdog());
    let was_told_to_stop = loop {
        tokio::select! {
            _ = terminate.recv() => break true,
            result = tokio::signal::ctrl_c() => break result.map(|()| true).map_err(Failed::refused)?,
            () = hub.broken() => break false,
            // What comes of it stands in the log, and in the metrics.
            Some(()) = hangup.recv() => drop(tokio::spawn(reload(hub.reload().clone()))),
        }
    };
    if !was_told_to_stop {
        // Whoever watches over the hub starts it anew, and that takes up what was on its way.
        return Err(Failed::Refused("a part of the hub ended by itself; see the log".into()));
    }
    print_note!("gatepost: stopping");
    tell_systemd(&[NotifyState::Stopping]);
    watchdog.abort();
    hub.stop().await;
    Ok(())
}

async fn reload(reload: Reload) {
    // A unit of `Type=notify-reload` waits for this, and sends the signal by itself.
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell_systemd(&[NotifyState::Reloading, now]);
    }
    // What came of it is logged.
    let _ = reload.reload("operator").await;
    tell_systemd(&[NotifyState::Ready]);
}

/// Without systemd there is nobody to tell, and that is no error.
fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

async fn pet_the_watchdog() {
    let Some(timeout) = sd_notify::watchdog_enabled().filter(|timeout| !timeout.is_zero()) else { return };
    let mut beat = tokio::time::interval((timeout / 2).max(Duration::from_millis(100)));
    loop {
        beat.tick().await;
        tell_systemd(&[NotifyState::Watchdog]);
    }
}
