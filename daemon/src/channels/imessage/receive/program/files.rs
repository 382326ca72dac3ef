//! Files, which lie on the Mac: `cat` reads one there, by the way that brings the program there. Which file that is, the program says; only
//! what lies where Messages keeps files is read.

use std::{io, time::Duration};

use tokio::{io::AsyncReadExt as _, time::sleep};

use super::{super::source::Sent, Rows};
use crate::{
    channels::{
        hub_handle::HubHandle,
        imessage::{
            answer::short,
            program::{self, Program},
        },
    },
    message::attachment::Attachment,
};

/// How often a file is asked for that is not there yet.
const TRIES: u32 = 4;
/// Where Messages keeps what people send.
const FILES: &str = "/Library/Messages/Attachments/";

impl Rows<'_> {
    /// Gives a file to the hub, as soon as it is there.
    pub(super) async fn fetch(
        &self,
        hub: &dyn HubHandle,
        sent: &Sent,
        pause: Duration,
    ) -> Result<Attachment, String> {
        let mut tries = 1;
        loop {
            match self.cat(hub, sent).await {
                Err(_) if tries < TRIES => tries += 1,
                kept => return kept,
            }
            sleep(pause).await;
        }
    }

    async fn cat(&self, hub: &dyn HubHandle, sent: &Sent) -> Result<Attachment, String> {
        if !is_kept_by_messages(&sent.at) {
            return Err("it does not lie where Messages keeps files".into());
        }
        let cat = Program { command: vec!["/bin/cat".into()], ssh: self.program.ssh.clone() };
        let mut running = cat.start(std::slice::from_ref(&sent.at))?;
        let (stdin, stdout, stderr) = running.pipes();
        drop(stdin);
        let Some(stdout) = stdout else { return Err("cat has no pipes".into()) };
        let said = tokio::spawn(program::read(stderr, 2048));
        // Half a file has an end too: how much it is, Messages says.
        let most = sent.size.map_or(u64::MAX, |size| size.saturating_add(1));
        let kept =
            hub.keep_file(sent.name.as_deref(), sent.kind.as_deref(), Box::new(stdout.take(most))).await;
        let kept = kept.map_err(|why| why.to_string());
        let well = running.ended().await.is_ok_and(|status| status.success());
        if !well {
            let said = said.await.ok().and_then(io::Result::ok).unwrap_or_default();
            return Err(kept.err().unwrap_or_else(|| short(&format!("cat failed: {}", said.trim()))));
        }
        let kept = kept?;
        match sent.size {
            Some(size) if size != kept.size => Err("not all of it is there".into()),
            _ => Ok(Attachment { voice: sent.voice, ..kept }),
        }
    }
}

/// Whether a path is of a file that somebody sent: the name at its end is a stranger's.
fn is_kept_by_messages(path: &str) -> bool {
    path.starts_with('/')
        && path.contains(FILES)
        && !path.split('/').any(|part| part == "..")
        && !path.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_where_messages_keeps_files_is_read() {
        let kept = "/Users/me/Library/Messages/Attachments/0a/10/AB/IMG_1.heic";
        assert!(is_kept_by_messages(kept));
        for other in [
            "",
            "/etc/passwd",
            "Library/Messages/Attachments/x",
            "/Users/me/Library/Messages/Attachments/../../../.ssh/id_ed25519",
            "/Users/me/Library/Messages/chat.db",
            "/Users/me/Library/Messages/Attachments/a\nb",
            "-/Library/Messages/Attachments/x",
        ] {
            assert!(!is_kept_by_messages(other), "{other:?}");
        }
    }
}
