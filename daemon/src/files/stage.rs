//! The files of a message are taken, from wherever they are, within what is left of its bounds.

use std::time::Duration;

use gatepost_link::Digest;
use tokio::io::AsyncReadExt as _;

use super::{
    BLOCK_BYTES, Files, Folder, Sources, Staged, blob_store::Taken, error::StageError, fetch::Fetched, given,
    kept::Kept, path_resolver, sniff, turn, uploads,
};
use crate::message::{
    attachment::{Attachment, MAX_NAME, clean_name, is_kind},
    attachment_spec::{Asked, Source},
};

/// How long copying a file of an agent's own folder may take.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);

/// What a recording of the hub's own is called.
const SPOKEN: &str = "voice.ogg";

impl Files {
    /// Takes all files of a message for `agent`, in their order.
    pub async fn stage(
        &self,
        agent: &str,
        sources: &Sources,
        asked: Vec<Asked>,
    ) -> Result<Vec<Staged>, StageError> {
        let bounds = self.bounds();
        // A recording is the hub's own, and has bounds of its own: it takes no file's place.
        let is_own = |asked: &Asked| matches!(asked.source, Source::Words(_));
        let count = asked.iter().filter(|asked| !is_own(asked)).count();
        if count > bounds.max_count {
            return Err(StageError::Count(count, bounds.max_count));
        }
        self.make_room().await;
        let (mut staged, mut left) = (Vec::with_capacity(asked.len()), bounds.max_together);
        for asked in asked {
            let is_own = is_own(&asked);
            let file = self.stage_one(agent, sources, asked, left).await?;
            if !is_own {
                left = left.saturating_sub(file.attachment.size);
            }
            staged.push(file);
        }
        Ok(staged)
    }

    async fn stage_one(
        &self,
        agent: &str,
        sources: &Sources,
        asked: Asked,
        left: u64,
    ) -> Result<Staged, StageError> {
        let far = matches!(asked.source, Source::Url(_) | Source::Words(_));
        let _turn = turn(if far { &self.0.far } else { &self.0.here }).await?;
        let came = match &asked.source {
            Source::Path(path) => self.copied(sources, path, left).await?,
            Source::Url(url) => self.fetched(sources, url, left).await?,
            Source::Bytes(bytes) => nameless(self.written(bytes, left).await?),
            Source::Words(words) => self.spoken(words).await?,
            Source::Upload(digest) => self.uploaded(agent, *digest, left).await?,
        };
        described(asked, came)
    }

    /// A copy of a file of an agent's own folder.
    async fn copied(&self, sources: &Sources, path: &str, left: u64) -> Result<Fetched, StageError> {
        let folder = sources.folder.clone().ok_or(StageError::NoFolder)?;
        let copied = self.copy(folder, path.to_owned(), left);
        // A file of a network's or of a program's file system comes as slowly as that likes.
        let late = |_| StageError::Slow(COPY_TIMEOUT);
        let taken = tokio::time::timeout(COPY_TIMEOUT, copied).await.map_err(late)??;
        Ok(Fetched { taken, name: Some(path.to_owned()), kind: None })
    }

    async fn copy(&self, folder: Folder, path: String, left: u64) -> Result<Taken, StageError> {
        let (file, size) = path_resolver::open(folder, path).await?;
        let mut draft = self.draft(left)?;
        draft.expect(size)?;
        let mut file = tokio::fs::File::from_std(file);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            match file.read(&mut block).await.map_err(StageError::Read)? {
                0 => break,
                n => draft.write(&block[..n]).await?,
            }
        }
        draft.finish().await
    }

    async fn fetched(&self, sources: &Sources, url: &str, left: u64) -> Result<Fetched, StageError> {
        let draft = self.draft(left)?;
        let fetched = self.0.fetcher.fetch(url, &sources.hosts, draft);
        let limit = self.bounds().url_timeout;
        tokio::time::timeout(limit, fetched).await.map_err(|_| StageError::Slow(limit))?
    }

    async fn written(&self, bytes: &[u8], left: u64) -> Result<Taken, StageError> {
        let mut draft = self.draft(left)?;
        draft.expect(bytes.len() as u64)?;
        draft.write(bytes).await?;
        draft.finish().await
    }

    /// A recording of the hub's own. It takes no other file's place.
    async fn spoken(&self, words: &str) -> Result<Fetched, StageError> {
        let recording = self.0.voice.speak(words).await?;
        let taken = self.written(&recording, u64::MAX).await?;
        Ok(Fetched { taken, name: Some(SPOKEN.to_owned()), kind: None })
    }

    /// A file that is here already: this caller handed it in, or was told of it.
    async fn uploaded(&self, agent: &str, digest: Digest, left: u64) -> Result<Fetched, StageError> {
        // Held before it is looked for, so that it does not go in between.
        let pin = self.0.blobs.pin(digest);
        let name = match uploads::find(self.0.blobs.store(), agent, digest).await {
            Err(StageError::NoUpload) => {
                let agent = agent.to_owned();
                let given = self.0.blobs.store().read(move |db| given(db, &agent, &digest)).await?;
                Some(given.ok_or(StageError::NoUpload)?)
            }
            found => found.map(|()| None)?,
        };
        let file = Kept::of(self.0.blobs.store()).open(&digest).await.map_err(|_| StageError::NoUpload)?;
        let size = file.size;
        let most = self.bounds().max_size.min(left);
        if size > most {
            return Err(StageError::TooLarge(most));
        }
        let mut head = Vec::new();
        let source = tokio::fs::File::from_std(file.file);
        source.take(sniff::HEAD as u64).read_to_end(&mut head).await.map_err(StageError::Read)?;
        Ok(Fetched { taken: Taken { pin, size, head }, name, kind: None })
    }
}

fn nameless(taken: Taken) -> Fetched {
    Fetched { taken, name: None, kind: None }
}

/// What a file that came is, by its content before what anybody says of it, and what it is called.
fn described(asked: Asked, came: Fetched) -> Result<Staged, StageError> {
    let Fetched { taken, name, kind } = came;
    if taken.size == 0 {
        return Err(StageError::Empty);
    }
    let sniffed = sniff::sniff(&taken.head, asked.kind.as_deref().or(kind.as_deref()));
    if asked.voice && !sniffed.kind.starts_with("audio/") {
        return Err(StageError::NotAudio(sniffed.kind));
    }
    let name = asked.name.as_deref().and_then(clean_name).or_else(|| clean_name(&name?));
    let name = name.unwrap_or_else(|| format!("file.{}", sniffed.extension));
    debug_assert!(name.len() <= MAX_NAME && is_kind(&sniffed.kind));
    let spoken = match asked.source {
        Source::Words(words) => Some(words),
        _ => None,
    };
    let attachment = Attachment {
        sha256: taken.pin.digest(),
        name,
        kind: sniffed.kind,
        said_to_be: sniffed.said_to_be,
        size: taken.size,
        caption: asked.caption,
        voice: asked.voice,
        spoken,
    };
    Ok(Staged { attachment, pin: taken.pin })
}

/// What a file that somebody sent is, and what it is called.
pub(super) fn received(name: Option<&str>, kind: Option<&str>, taken: Taken) -> Result<Staged, StageError> {
    if taken.size == 0 {
        return Err(StageError::Empty);
    }
    let sniffed = sniff::sniff(&taken.head, kind);
    let name = name.and_then(clean_name).unwrap_or_else(|| format!("file.{}", sniffed.extension));
    let attachment = Attachment {
        sha256: taken.pin.digest(),
        name,
        kind: sniffed.kind,
        said_to_be: sniffed.said_to_be,
        size: taken.size,
        caption: None,
        voice: false,
        spoken: None,
    };
    Ok(Staged { attachment, pin: taken.pin })
}
