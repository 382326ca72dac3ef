use super::{super::tar::Writer, *};

/// Entries, and a list of all but those that say that they are not in it.
struct Built(Vec<(String, Vec<u8>)>);

impl Built {
    fn good() -> Self {
        let file = b"attached".to_vec();
        let name = format!("files/{}", to_hex(ring::digest::digest(&ring::digest::SHA256, &file).as_ref()));
        Self(vec![
            (Entry::FORMAT.into(), b"gatepost backup, format 1\n".to_vec()),
            (Entry::DATABASE.into(), vec![3; 2000]),
            (name, file),
            ("configuration/credentials/mail".into(), b"secret".to_vec()),
            ("keys/hub.key".into(), vec![1; 32]),
        ])
    }

    fn with(mut self, name: &str, content: &[u8]) -> Self {
        self.0.push((name.into(), content.to_vec()));
        self
    }

    fn manifest(&self) -> Manifest {
        let listed = self.0.iter().map(|(name, content)| Listed {
            name: name.clone(),
            size: content.len() as u64,
            sha256: to_hex(ring::digest::digest(&ring::digest::SHA256, content).as_ref()),
        });
        Manifest {
            format: FORMAT,
            gatepost: "0.1.0".into(),
            schema: 1,
            made: "2026-11-24T10:27:38Z".into(),
            hub: None,
            keys: true,
            entries: listed.collect(),
            missing: vec![],
            left_out: vec![],
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.listed_as(&self.manifest())
    }

    fn listed_as(&self, manifest: &Manifest) -> Vec<u8> {
        let list = serde_json::to_vec(manifest).unwrap();
        let mut writer = Writer::new(vec![]);
        for (name, content) in
            self.0.iter().map(|(name, content)| (name.as_str(), content)).chain([(Entry::MANIFEST, &list)])
        {
            let header = Header { name: name.into(), size: content.len() as u64, time: 0 };
            writer.entry(&header, &content[..]).unwrap();
        }
        writer.finish().unwrap()
    }
}

fn unpacked(bytes: &[u8]) -> Result<Unpacked, ArchiveError> {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("into");
    let unpacked = unpack(bytes, &into)?;
    assert_eq!(fs::read(&unpacked.database).unwrap(), vec![3; 2000]);
    assert_eq!(fs::read(into.join("configuration/credentials/mail")).unwrap(), b"secret");
    Ok(unpacked)
}

fn why(bytes: &[u8]) -> String {
    unpacked(bytes).expect_err("it is taken").to_string()
}

#[test]
fn what_is_whole_is_unpacked() {
    let built = Built::good();
    assert_eq!(unpacked(&built.bytes()).unwrap().manifest, built.manifest());
}

#[test]
fn one_that_ends_early_is_refused_wherever_it_ends() {
    let whole = Built::good().bytes();
    for end in (0..whole.len()).step_by(97).chain(whole.len() - 1030..whole.len()) {
        let refused = unpacked(&whole[..end]).expect_err("it is taken");
        assert!(matches!(refused, ArchiveError::Truncated), "{end}: {refused}");
    }
    assert!(why(&[&whole[..], b"\0"].concat()).contains("follows its end"));
}

#[test]
fn one_of_which_a_bit_was_turned_is_refused() {
    let (whole, list) = (Built::good().bytes(), Built::good().0.len());
    // Not within the list itself: who changes both changes a backup that is not sealed, and no list finds that out.
    let end = whole.len() - 1024 - 2048 - list;
    for at in (0..end).step_by(31) {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        let folder = tempfile::tempdir().unwrap();
        // But for the time in a header, whose sum then is wrong too.
        assert!(unpack(&changed[..], &folder.path().join("into")).is_err(), "byte {at}");
    }
}

#[test]
fn names_that_are_none_of_a_backup_are_refused() {
    for name in ["../../etc/passwd", "/etc/passwd", "keys/../x", "updates/x", "files/x", "gatepost.db-wal"] {
        let refused = why(&Built::good().with(name, b"x").bytes());
        assert!(refused.contains("an entry is called"), "{name}: {refused}");
    }
}

#[test]
fn no_entry_comes_twice_and_none_is_larger_than_it_may_be() {
    let twice = Built::good().with("keys/hub.key", b"x").bytes();
    assert!(why(&twice).contains("two entries keys/hub.key"), "{}", why(&twice));
    let large = Built::good().with("keys/hub.seal", &[0; 5000]).bytes();
    assert!(why(&large).contains("larger than it may be"));
}

#[test]
fn a_list_that_is_of_something_else_is_refused() {
    let built = Built::good();
    let mut short = built.manifest();
    short.entries.pop();
    assert!(why(&built.listed_as(&short)).contains("is not what its list says"));
    let mut long = built.manifest();
    long.entries.push(Listed { name: "keys/hub.seal".into(), size: 32, sha256: String::new() });
    assert!(why(&built.listed_as(&long)).contains("in its list alone"));
    let mut other = built.manifest();
    other.entries[1].sha256 = "0".repeat(64);
    assert!(why(&built.listed_as(&other)).contains("is not what its list says"));
    let mut without = Built::good();
    without.0.remove(1);
    assert!(why(&without.bytes()).contains("no database"));
}

#[test]
fn a_file_that_is_not_what_it_is_called_is_refused() {
    let wrong = Built::good().with(&format!("files/{}", "0".repeat(64)), b"x").bytes();
    assert!(why(&wrong).contains("other content than its name says"));
}

#[test]
fn one_of_a_newer_format_says_so_and_one_that_is_no_backup_too() {
    let mut newer = Built::good();
    newer.0[0].1 = b"gatepost backup, format 2\n".to_vec();
    assert!(matches!(unpacked(&newer.bytes()), Err(ArchiveError::Newer(2))));
    let mut other = Built::good();
    other.0.remove(0);
    assert!(why(&other.bytes()).contains("does not begin as a backup"));
}
