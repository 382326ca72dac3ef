//! How long things take, and how long files may: rows are read in their order, so that whoever wrote next waits for them.

use std::time::Duration;

use crate::{
    channels::{
        hub_handle::{FilePlace, HubHandle, NO_PLACE},
        kit::{in_time, polling},
    },
    message::attachment::Attachment,
};

use super::source::{Sent, Source};

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub(in crate::channels::imessage) struct Tempo {
    pub(in crate::channels::imessage) asking: polling::Tempo,
    /// After a row was passed, until it is asked for a last time: it may get its conversation late.
    pub(in crate::channels::imessage) late: Duration,
    /// For all files of what is read at once: words wait for them.
    pub(in crate::channels::imessage) files: Duration,
    /// Of that, for those of people who are not known.
    pub(in crate::channels::imessage) strangers: Duration,
    /// Until a file that is not on the Mac yet is asked for again.
    pub(in crate::channels::imessage) arriving: Duration,
}

impl Tempo {
    pub(in crate::channels::imessage) const USUAL: Self = Self {
        asking: polling::Tempo::usual(Duration::from_millis(300)),
        late: Duration::from_mins(1),
        files: in_time::TOGETHER,
        strangers: in_time::STRANGERS,
        arriving: Duration::from_secs(3),
    };
}

/// What is left of the time for the files of what is read at once.
#[derive(Debug)]
pub(super) struct FileTime {
    arriving: Duration,
    time: in_time::FileTime,
}

impl FileTime {
    /// All of it, from now on.
    pub(super) fn of(tempo: &Tempo) -> Self {
        Self { arriving: tempo.arriving, time: in_time::FileTime::of(tempo.files, tempo.strangers) }
    }

    /// Fetches a file of whoever has this place; else a line that says why not.
    pub(super) async fn fetch(
        &mut self,
        (source, hub): (&dyn Source, &dyn HubHandle),
        place: Option<&FilePlace>,
        sent: &Sent,
    ) -> Result<Attachment, String> {
        let Some(place) = place else {
            return Err(sent.missing(NO_PLACE));
        };
        let arriving = self.arriving;
        self.time.fetch(place, |until| source.keep(hub, sent, until, arriving)).await
    }
}
