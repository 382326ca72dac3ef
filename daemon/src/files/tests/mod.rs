//! Files on their way into the folder and out of it.

mod fetch;
mod rebinding;

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use gatepost_link::Digest;

use super::{
    kept::{Kept, KeptError},
    *,
};
use crate::{
    message::{
        attachment_spec::{Asked, Source},
        refusal::{Code, Refusal},
    },
    program::Program,
    voice,
};

struct Fixture {
    directory: tempfile::TempDir,
    store: Store,
    files: Files,
}

const SMALL: Bounds = Bounds {
    max_size: 100_000,
    max_together: 150_000,
    max_count: 3,
    max_stored: 400_000,
    url_timeout: Duration::from_secs(2),
};

fn fixture(bounds: Bounds, private: &[&str]) -> Fixture {
    fixture_with(bounds, private, Voice::OFF)
}

fn fixture_with(bounds: Bounds, private: &[&str], voice: Voice) -> Fixture {
    crate::hub::install_tls_provider();
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let private: Vec<String> = private.iter().map(|entry| (*entry).to_owned()).collect();
    let files = Files::open(store.clone(), bounds, Private::parse(&private).unwrap(), voice).unwrap();
    Fixture { directory, store, files }
}

impl Fixture {
    fn folder(&self) -> PathBuf {
        self.directory.path().join("files")
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder()).into_iter().flatten();
        names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    async fn stage(&self, asked: Asked) -> Result<Staged, StageError> {
        let sources = Sources { folder: None, hosts: Hosts::parse(&["*".to_owned()]).unwrap() };
        Ok(self.files.stage("a", &sources, vec![asked]).await?.remove(0))
    }

    async fn bytes(&self, bytes: &[u8]) -> Result<Staged, StageError> {
        self.stage(asked(Source::Bytes(bytes.to_vec()))).await
    }

    async fn use_it(&self, file: &Attachment, message: i64) {
        let file = file.clone();
        let used = self.store.write(move |tx| {
            tx.execute_batch(&format!(
                "INSERT OR IGNORE INTO messages (seq, id, agent, state, action, channel, account, address, silent, text, \
                 fingerprint, accepted_at, deadline, due_at) VALUES ({message}, 'm{message}', 'a', 'sent', 'send', 'local', \
                 'home', 'x', 0, 'x', x'00', 0, 0, 0)"
            ))?;
            refer(tx, message, &[file])?;
            Ok::<_, StoreError>(())
        });
        used.await.unwrap();
    }
}

fn asked(source: Source) -> Asked {
    Asked { source, name: None, kind: None, caption: None, voice: false }
}

#[tokio::test]
async fn a_staged_file_stands_whole_under_its_hash_once_and_for_its_owner_only() {
    let fixture = fixture(SMALL, &[]);
    let one = fixture.bytes(b"hello\n").await.unwrap();
    let two = fixture.bytes(b"hello\n").await.unwrap();
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    assert_eq!(one.attachment.sha256.to_string(), hash);
    assert_eq!(two.attachment, one.attachment);
    assert_eq!((one.attachment.name.as_str(), one.attachment.kind.as_str()), ("file.txt", "text/plain"));
    assert_eq!(fixture.names(), [hash]);
    let file = fixture.folder().join(hash);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(fixture.folder()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read(file).unwrap(), b"hello\n");
}

/// Speaks by making a sound of it that is no file of anybody's.
fn speaking(sound: &Path) -> Voice {
    let arguments = vec!["-c".into(), format!("cat > /dev/null; cat {}", sound.display())];
    let program = Program { path: "/bin/sh".into(), arguments };
    Voice::new(voice::Speaker::Programs(vec![program]), voice::Bounds::default())
}

#[tokio::test]
async fn a_recording_that_the_hub_makes_takes_no_files_place_and_none_of_their_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let sound = directory.path().join("sound");
    fs::write(&sound, voice::sample()).unwrap();
    let fixture = fixture_with(SMALL, &[], speaking(&sound));
    let words = || Asked { voice: true, ..asked(Source::Words("Hello.".into())) };
    let files = [100_000, 49_999, 1].map(|n| asked(Source::Bytes(vec![1; n])));
    // Words that are too many for one message are several recordings.
    let all: Vec<Asked> = [words(), words()].into_iter().chain(files).collect();
    let staged = fixture.files.stage("a", &Sources::default(), all.clone()).await.unwrap();
    assert_eq!(staged.iter().filter(|file| file.attachment.spoken.is_some()).count(), 2);
    assert_eq!(staged.len(), 5, "three files, as many as there may be, in all their bytes");
    let more = all.into_iter().chain([asked(Source::Bytes(vec![2]))]).collect();
    let many = fixture.files.stage("a", &Sources::default(), more).await;
    assert!(matches!(many, Err(StageError::Count(4, 3))), "{many:?}");
}

#[tokio::test]
async fn nothing_over_a_bound_is_taken_and_nothing_of_it_stays() {
    let fixture = fixture(SMALL, &[]);
    let whole = [7; 100_000];
    let first = fixture.bytes(&whole).await.unwrap();
    assert!(matches!(fixture.bytes(&[7; 100_001]).await, Err(StageError::TooLarge(100_000))));
    assert!(matches!(fixture.bytes(&[]).await, Err(StageError::Empty)));
    let files = |sizes: &[usize]| sizes.iter().map(|n| asked(Source::Bytes(vec![1; *n]))).collect::<Vec<_>>();
    let sources = Sources::default();
    let together = fixture.files.stage("a", &sources, files(&[90_000, 60_001])).await;
    assert!(matches!(together, Err(StageError::TooLarge(60_000))), "{together:?}");
    let many = fixture.files.stage("a", &sources, files(&[1, 2, 3, 4])).await;
    assert!(matches!(many, Err(StageError::Count(4, 3))));
    // A refused file is swept, and does not count any more.
    let mut held = vec![first];
    fixture.files.sweep().await.unwrap();
    for n in 0..3 {
        held.push(fixture.bytes(&[n; 100_000]).await.unwrap());
    }
    assert!(matches!(fixture.bytes(b"x").await, Err(StageError::Stored(400_000))));
    assert!(!fixture.names().iter().any(|name| name.starts_with('.')));
    drop(held);
    assert_eq!(fixture.files.sweep().await.unwrap(), 4);
    fixture.bytes(b"x").await.unwrap();
}

#[tokio::test]
async fn a_file_goes_when_nobody_stages_it_and_nothing_refers_to_it_and_not_before() {
    let fixture = fixture(SMALL, &[]);
    let (used, held) = (fixture.bytes(b"used").await.unwrap(), fixture.bytes(b"held").await.unwrap());
    let (kept, orphan) = (used.attachment.clone(), fixture.bytes(b"orphan").await.unwrap().attachment);
    fixture.use_it(&used.attachment, 1).await;
    drop(used);
    assert_eq!(fixture.files.sweep().await.unwrap(), 1, "the orphan");
    assert!(!fixture.names().contains(&orphan.sha256.to_string()));
    assert_eq!(fixture.names().len(), 2);
    drop(held);
    assert_eq!(fixture.files.sweep().await.unwrap(), 1);
    fixture.store.write(|tx| Ok::<_, StoreError>(let_go(tx, 1)?)).await.unwrap();
    assert!(fixture.names().contains(&kept.sha256.to_string()));
    assert_eq!(fixture.files.sweep().await.unwrap(), 1);
    assert!(fixture.names().is_empty());
}

#[tokio::test]
async fn sweeps_and_stagings_at_once_lose_no_file_that_a_message_refers_to() {
    let fixture = std::sync::Arc::new(fixture(Bounds::default(), &[]));
    let sweeper = {
        let fixture = std::sync::Arc::clone(&fixture);
        tokio::spawn(async move {
            loop {
                fixture.files.sweep().await.unwrap();
            }
        })
    };
    for n in 0..60 {
        let bytes = [b"the same ".as_slice(), &[b'a' + n % 3]].concat();
        let staged = fixture.bytes(&bytes).await.unwrap();
        fixture.use_it(&staged.attachment, i64::from(n) + 1).await;
        let file = staged.attachment.clone();
        drop(staged);
        tokio::task::yield_now().await;
        Kept::of(&fixture.store).open(&file.sha256).await.expect("it is there");
        let seq = i64::from(n) + 1;
        fixture.store.write(move |tx| Ok::<_, StoreError>(let_go(tx, seq)?)).await.unwrap();
    }
    sweeper.abort();
}

#[tokio::test]
async fn what_a_killed_hub_left_half_written_is_gone_at_the_next_start() {
    let fixture = fixture(SMALL, &[]);
    drop(fixture.bytes(b"whole").await.unwrap());
    fs::write(fixture.folder().join(".half-1234"), "half").unwrap();
    let Fixture { directory, store, files } = fixture;
    drop(files);
    let files = Files::open(store.clone(), SMALL, Private::default(), Voice::OFF).unwrap();
    let fixture = Fixture { directory, store, files };
    assert_eq!(fixture.names().len(), 1);
    assert_eq!(fixture.files.sweep().await.unwrap(), 1);
}

#[tokio::test]
async fn a_file_that_is_gone_or_changed_is_not_read_back() {
    let fixture = fixture(SMALL, &[]);
    let staged = fixture.bytes(b"approved").await.unwrap();
    let (kept, hash) = (Kept::of(&fixture.store), staged.attachment.sha256);
    let mut text = String::new();
    kept.open(&hash).await.unwrap().file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "approved");
    fs::write(fixture.folder().join(hash.to_string()), "approveD").unwrap();
    assert!(matches!(kept.open(&hash).await, Err(KeptError::Changed(_))));
    fs::remove_file(fixture.folder().join(hash.to_string())).unwrap();
    assert!(matches!(kept.open(&hash).await, Err(KeptError::Gone(..))));
}

#[tokio::test]
async fn paths_are_for_who_has_a_folder() {
    let fixture = fixture(SMALL, &[]);
    let path =
        || vec![Asked { name: Some("../b\u{202e}.txt".into()), ..asked(Source::Path("sub/a.txt".into())) }];
    let refused = fixture.files.stage("a", &Sources::default(), path()).await.unwrap_err();
    let refusal = Refusal::from(refused);
    assert_eq!((refusal.code, refusal.reason), (Code::Forbidden, Some("attach_from")));
    let own = tempfile::tempdir().unwrap();
    fs::create_dir(own.path().join("sub")).unwrap();
    fs::write(own.path().join("sub/a.txt"), "text").unwrap();
    let sources = Sources {
        folder: Some(Folder { path: own.path().to_owned(), ..Folder::default() }),
        hosts: Hosts::default(),
    };
    let staged = fixture.files.stage("a", &sources, path()).await.unwrap().remove(0);
    assert_eq!((staged.attachment.name.as_str(), staged.attachment.size), ("b.txt", 4));
}

#[tokio::test]
async fn a_file_that_came_is_for_the_agent_that_was_told_of_it_and_no_other() {
    let fixture = fixture(SMALL, &[]);
    let kept = fixture.files.keep(Some("plan.pdf"), None, &b"%PDF-1.7 of Ann"[..]).await.unwrap();
    let digest = kept.attachment.sha256;
    let facts = serde_json::json!({"files": [kept.attachment]}).to_string();
    let run = async |sql: &'static str| {
        fixture.store.write(move |tx| Ok::<_, StoreError>(tx.execute_batch(sql)?)).await.unwrap();
    };
    let received = "INSERT INTO inbound (seq, channel, account, peer, text, at, facts) VALUES (1, 'local', '', 'me', 'x', 1, ?)";
    let file = "INSERT INTO inbound_files (inbound, digest) VALUES (1, ?)";
    let rows = move |tx: &Transaction<'_>| {
        tx.execute(received, [facts])?;
        Ok::<_, StoreError>(tx.execute(file, [digest.0])?)
    };
    fixture.store.write(rows).await.unwrap();
    run("INSERT INTO turns (seq, id, agent, session, cause, scope, state, due_at, at) VALUES (1, 'm1', 'a', 's', 'message', 'owner', 'waiting', 1, 1);
         INSERT INTO turn_items (agent, inbound, session, turn, engages) VALUES ('a', 1, 's', 1, 1), ('b', 1, 's', NULL, 0);")
    .await;
    let attach = async |agent: &str| {
        let asked = vec![asked(Source::Upload(digest))];
        fixture
            .files
            .stage(agent, &Sources::default(), asked)
            .await
            .map(|mut staged| staged.remove(0).attachment.name)
    };
    assert!(matches!(attach("a").await, Err(StageError::NoUpload)), "it was not told yet");
    run("UPDATE turns SET attempts = 1").await;
    assert_eq!(attach("a").await.unwrap(), "plan.pdf");
    assert!(matches!(attach("b").await, Err(StageError::NoUpload)), "it waits to be read along");
    run("INSERT INTO contexts (hash, inbound, agent, session, expires_at) VALUES (x'00', 1, 'c', 's', 1)")
        .await;
    assert_eq!(attach("c").await.unwrap(), "plan.pdf");
    let other = vec![asked(Source::Upload(Digest::of(b"another")))];
    assert!(matches!(fixture.files.stage("a", &Sources::default(), other).await, Err(StageError::NoUpload)));
}

#[tokio::test]
async fn an_upload_is_its_callers_alone_and_stays_while_it_may_be_named() {
    let fixture = fixture(SMALL, &[]);
    let upload = async |agent: &str, bytes: &[u8]| {
        let pieces: Vec<Result<Vec<u8>, String>> = bytes.chunks(10).map(|piece| Ok(piece.to_vec())).collect();
        fixture.files.upload(agent, None, futures_util::stream::iter(pieces)).await
    };
    let file = upload("a", b"%PDF-1.7 of a").await.unwrap();
    assert_eq!((file.size, file.kind.as_str()), (13, "application/pdf"));
    fixture.files.sweep().await.unwrap();
    let sources = Sources::default();
    let name = || vec![asked(Source::Upload(file.file))];
    assert!(matches!(fixture.files.stage("b", &sources, name()).await, Err(StageError::NoUpload)));
    let staged = fixture.files.stage("a", &sources, name()).await.unwrap().remove(0);
    assert_eq!((staged.attachment.kind.as_str(), staged.attachment.size), ("application/pdf", 13));
    drop(staged);
    let old = "UPDATE uploads SET at = at - 3600001";
    fixture.store.write(move |tx| Ok::<_, StoreError>(tx.execute(old, [])?)).await.unwrap();
    assert!(matches!(fixture.files.stage("a", &sources, name()).await, Err(StageError::NoUpload)));
    assert_eq!(fixture.files.sweep().await.unwrap(), 1);

    for n in 0..64_u8 {
        upload("c", &[n + 1]).await.unwrap();
    }
    assert!(matches!(upload("c", b"one more").await, Err(StageError::Uploads(64))));
    let name = vec![asked(Source::Upload(Digest::of(&[1])))];
    let used = fixture.files.stage("c", &sources, name).await.unwrap().remove(0);
    fixture.use_it(&used.attachment, 1).await;
    upload("c", b"one more").await.unwrap();
    fixture.store.write(move |tx| Ok::<_, StoreError>(tx.execute(old, [])?)).await.unwrap();
    assert_eq!(fixture.files.sweep().await.unwrap(), 64, "but for the one in use");
    fixture.store.write(|tx| Ok::<_, StoreError>(let_go(tx, 1)?)).await.unwrap();
    drop(used);
    fixture.files.sweep().await.unwrap();

    assert!(matches!(upload("a", &[1; 100_001]).await, Err(StageError::TooLarge(_))));
    let broken = futures_util::stream::iter([Ok(vec![1]), Err("broke off")]);
    assert!(matches!(fixture.files.upload("a", None, broken).await, Err(StageError::Broken(_))));
    assert!(fixture.names().is_empty());
}

#[tokio::test]
async fn a_voice_message_is_audio() {
    let fixture = fixture(SMALL, &[]);
    let voice = |bytes: &[u8]| Asked { voice: true, ..asked(Source::Bytes(bytes.to_vec())) };
    assert!(
        matches!(fixture.stage(voice(b"hello")).await, Err(StageError::NotAudio(kind)) if kind == "text/plain")
    );
    let staged = fixture.stage(voice(b"ID3\x03\0\0\0\0\0\x21")).await.unwrap();
    assert_eq!((staged.attachment.kind.as_str(), staged.attachment.voice), ("audio/mpeg", true));
    assert!(Path::new(&staged.attachment.name).extension().is_some());
}
