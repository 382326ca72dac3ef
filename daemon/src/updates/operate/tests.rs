//! What people do with releases.

use std::{fs, sync::Arc, time::Duration};

use gatepost_link::{
    envelope::VERSION,
    frame::{Progress, Running, State},
    seal::SealKey,
    update::{Label, root::MAX_FILE_BYTES},
};
use jiff::tz::TimeZone;

use super::{
    super::{
        releases::Releases,
        rollout::Policy,
        serve::{Gets, Offer},
        testing::{Fixture, root_file},
    },
    *,
};
use crate::{
    approval::{
        Approvals,
        device::{self, Device},
    },
    heartbeat::schedule::Hours,
    outbox::Outbox,
    store::Store,
};

const HALL: PublicKey = PublicKey([1; 32]);
const ATTIC: PublicKey = PublicKey([2; 32]);

struct Table {
    folder: tempfile::TempDir,
    updates: Updates,
}

impl Table {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let root = folder.path().join("root");
        fs::write(&root, root_file(1).to_bytes(&mut [0; MAX_FILE_BYTES])).unwrap();
        let releases = Releases::open(folder.path(), Some(&root)).unwrap();
        let approvals = Approvals::new(Outbox::new(store), PublicKey([9; 32]), false);
        let policy = Policy { soak: Duration::ZERO, hours: Hours::all_day(TimeZone::UTC) };
        let table = Self { folder, updates: Updates::new(releases, policy, approvals, || 1) };
        table.join(HALL, "hall").await;
        table
    }

    /// A companion that is here.
    async fn join(&self, key: PublicKey, name: &str) {
        let seal = SealKey(key.0);
        let device = Device { key, seal, name: name.into(), software: false, login: None, version: VERSION };
        device::register(self.updates.store(), device).await.unwrap();
        let presence = self.updates.0.approvals.presence();
        presence.expect(key);
        presence.note(key, true);
        presence.display(key, true);
    }

    /// What is said of how far a companion is.
    async fn says_of(&self, name: &str) -> String {
        let overview = self.updates.overview().await.unwrap();
        let of = overview.companions.into_iter().find(|one| one.name == name).unwrap();
        of.update.unwrap().text
    }

    async fn add(&self, version: &str) -> Result<Release, AddError> {
        self.updates.add(Fixture::new(version, 5_000).file(), "operator:ann").await
    }

    /// Rolls a release out to a companion that runs an older one, and waits until it is offered.
    async fn is_offered(&self, version: &str) {
        self.updates.running(HALL, running("1.0.0", State::Settled), false).await.unwrap();
        self.updates.roll_out(order(version), "operator:ann").await.unwrap();
        self.offer().await;
    }

    async fn kept(&self) -> Vec<String> {
        let kept = self.updates.store().read(store::releases).await.unwrap();
        kept.into_iter().map(|release| release.version.to_string()).collect()
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path().join("updates")).unwrap().count()
    }

    /// What the companion is offered, once that is read.
    async fn offer(&self) -> Offer {
        loop {
            match self.updates.offers().await.unwrap().remove(&HALL) {
                Some(Gets::This(offer)) => return offer,
                Some(Gets::Soon(_)) => {}
                gets => panic!("{gets:?}"),
            }
            let changed = self.updates.changed();
            tokio::time::timeout(Duration::from_secs(60), changed).await.expect("it is read");
        }
    }

    async fn stage(&self) -> Option<store::Stage> {
        let installs = self.updates.store().read(store::installs).await.unwrap();
        installs.get(&HALL).and_then(|of| of.last()).map(|install| install.stage)
    }
}

fn order(version: &str) -> Order {
    let version = Version::new(version).unwrap();
    Order { version, board: None, to: vec![], now: false, again: false }
}

fn running(version: &str, state: State) -> Running {
    let (board, version) = (Label::new("esp32c3").unwrap(), Version::new(version).unwrap());
    Running { board, version, floor: Version::default(), root: 1, state }
}

#[tokio::test]
async fn the_oldest_that_is_not_rolled_out_makes_room() {
    let table = Table::new().await;
    for minor in 1..=MAX_RELEASES {
        table.add(&format!("1.{minor}.0")).await.unwrap();
    }
    table.updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap();
    table.add("2.0.0").await.unwrap();
    let kept = table.kept().await;
    assert_eq!((kept.len(), table.files()), (MAX_RELEASES, MAX_RELEASES));
    assert!(kept.contains(&"1.1.0".into()) && !kept.contains(&"1.2.0".into()), "{kept:?}");
    // One that went may come again, and one that is there too.
    table.add("1.2.0").await.unwrap();
    table.add("1.2.0").await.unwrap();
    assert_eq!((table.kept().await.len(), table.files()), (MAX_RELEASES, MAX_RELEASES));
}

#[tokio::test]
async fn a_version_is_given_once_and_what_is_not_there_is_not_rolled_out() {
    let table = Table::new().await;
    table.add("1.1.0").await.unwrap();
    let other = Fixture::new("1.1.0", 6_000).file();
    let taken = table.updates.add(other, "operator:ann").await;
    assert!(matches!(taken, Err(AddError::Taken(..))), "{taken:?}");
    assert_eq!(table.files(), 1, "nothing of it stays");
    let said =
        async |order: Order| table.updates.roll_out(order, "operator:ann").await.unwrap_err().to_string();
    assert!(said(order("1.2.0")).await.starts_with("there is no release 1.2.0: see gatepost ota list"));
    let elsewhere = Order { board: Some("esp32c6".into()), ..order("1.1.0") };
    assert!(said(elsewhere).await.starts_with("there is no release 1.1.0 for esp32c6"));
    let nobody = Order { to: vec!["attic".into()], ..order("1.1.0") };
    assert!(said(nobody).await.contains("\"attic\""));
    let rested = table.updates.rest(true, "operator:ann").await;
    assert!(matches!(rested, Err(OrderError::Nothing(_))), "{rested:?}");
    table.updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap();
    assert_eq!(table.updates.rest(true, "operator:ann").await.unwrap(), 1);
    assert_eq!(table.updates.rest(false, "operator:ann").await.unwrap(), 1);
    // Whoever rolls out anew is told that the pause is over.
    let ends_pause =
        async || table.updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap()[0].ends_pause;
    assert!(!ends_pause().await);
    table.updates.rest(true, "operator:ann").await.unwrap();
    assert!(ends_pause().await && !ends_pause().await);
}

#[tokio::test]
async fn a_release_is_read_into_memory_once_and_offered_until_it_is_confirmed() {
    let table = Table::new().await;
    let updates = &table.updates;
    let release = table.add("1.1.0").await.unwrap().seq;
    updates.running(HALL, running("1.0.0", State::Settled), false).await.unwrap();
    assert!(updates.offers().await.unwrap().is_empty(), "nothing is rolled out");
    updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap();
    let offer = table.offer().await;
    assert!(Arc::ptr_eq(&offer.package, &table.offer().await.package));

    let report = |progress| updates.reported(HALL, release, progress);
    assert!(report(Progress::Asking).await.is_err(), "it was not offered yet");
    updates.offered(HALL, release).await.unwrap();
    report(Progress::Taking { done: 1, of: 5_000 }).await.unwrap();
    report(Progress::Taking { done: 4_096, of: 5_000 }).await.unwrap();
    assert!(report(Progress::Taking { done: 9, of: 4 }).await.is_err());
    let view = updates.companions().await.unwrap()[&HALL].update.clone().unwrap();
    assert_eq!((view.state, view.done, view.of), ("taking", Some(4_096), Some(5_000)));
    report(Progress::Asking).await.unwrap();
    updates.offered(HALL, release).await.unwrap();
    assert_eq!(table.stage().await, Some(store::Stage::Asking), "in another session it goes on");
    report(Progress::Installing).await.unwrap();
    assert!(updates.offers().await.unwrap().is_empty());
    updates.running(HALL, running("1.1.0", State::Settled), true).await.unwrap();
    assert_eq!(table.stage().await, Some(store::Stage::Confirmed));
    let overview = updates.overview().await.unwrap();
    assert_eq!((overview.roll_outs[0].confirmed, overview.roll_outs[0].companions), (1, 1));
    assert!(overview.warnings.is_empty() && overview.releases[0].rolled_out, "{overview:?}");
}

#[tokio::test]
async fn a_file_that_somebody_changed_is_not_offered_and_is_told_of() {
    let table = Table::new().await;
    table.add("1.1.0").await.unwrap();
    let file = fs::read_dir(table.folder.path().join("updates")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let updates = &table.updates;
    updates.running(HALL, running("1.0.0", State::Settled), false).await.unwrap();
    updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap();
    let warned = async {
        loop {
            let gets = updates.offers().await.unwrap().remove(&HALL);
            assert!(matches!(gets, None | Some(Gets::Soon(_))), "{gets:?}");
            if let Some(warning) = updates.overview().await.unwrap().warnings.pop() {
                return warning;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let warning = tokio::time::timeout(Duration::from_secs(60), warned).await.expect("it is read");
    assert!(warning.contains("cannot be offered") && warning.contains("gatepost ota add"), "{warning}");
    // Added again it is mended.
    table.add("1.1.0").await.unwrap();
    assert!(updates.overview().await.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn a_companion_whose_image_was_signed_as_a_later_version_is_believed_and_can_be_updated() {
    let table = Table::new().await;
    let updates = &table.updates;
    // Signed as 1.7.0 with the floor 1.5.0, and the image says 1.2.0.
    let wrong = Fixture::new("1.7.0", 5_000).with(|manifest| manifest.floor = Version::new("1.5.0").unwrap());
    let release = updates.add(wrong.file(), "operator:ann").await.unwrap();
    updates.running(HALL, running("1.1.0", State::Settled), false).await.unwrap();
    updates.roll_out(order("1.7.0"), "operator:ann").await.unwrap();
    updates.offered(HALL, release.seq).await.unwrap();
    updates.reported(HALL, release.seq, Progress::Installing).await.unwrap();
    updates.running(HALL, running("1.2.0", State::Trial(wrong.image_id())), true).await.unwrap();
    let confirmed = Running { floor: release.floor, ..running("1.2.0", State::Settled) };
    updates.running(HALL, confirmed, false).await.unwrap();
    let overview = updates.overview().await.unwrap();
    let text = overview.companions[0].update.clone().unwrap().text;
    assert!(text.contains("signed as 1.7.0, and says that it is 1.2.0"), "{text}");
    assert!(overview.warnings[0].contains("takes nothing below 1.5.0"), "{:?}", overview.warnings);
    assert!(updates.offers().await.unwrap().is_empty(), "it would ask for the same one for ever");
    table.add("1.8.0").await.unwrap();
    updates.roll_out(order("1.8.0"), "operator:ann").await.unwrap();
    assert_eq!(table.offer().await.package.manifest.version.to_string(), "1.8.0");
}

#[tokio::test]
async fn what_goes_back_after_it_was_confirmed_stops_the_roll_out() {
    for (offered, says) in [
        // It said that it runs, and was never offered it: it may lie.
        (false, State::WentBack(Fixture::new("1.1.0", 5_000).image_id())),
        (true, State::WentBack(Fixture::new("1.1.0", 5_000).image_id())),
        (true, State::Settled),
    ] {
        let table = Table::new().await;
        let updates = &table.updates;
        table.join(ATTIC, "attic").await;
        let release = table.add("1.1.0").await.unwrap().seq;
        for key in [HALL, ATTIC] {
            updates.running(key, running("1.0.0", State::Settled), false).await.unwrap();
        }
        updates.roll_out(order("1.1.0"), "operator:ann").await.unwrap();
        if offered {
            updates.offered(HALL, release).await.unwrap();
            updates.reported(HALL, release, Progress::Installing).await.unwrap();
        }
        updates.running(HALL, running("1.1.0", State::Settled), true).await.unwrap();
        assert_eq!(table.says_of("attic").await, "its turn", "{says:?}");
        updates.running(HALL, running("1.0.0", says), true).await.unwrap();
        assert_eq!(table.says_of("attic").await, "stopped: it went wrong on hall", "{says:?}");
        assert_eq!(table.stage().await, Some(store::Stage::WentBack));
    }
}

#[tokio::test]
async fn what_the_disk_did_not_take_leaves_nothing_behind() {
    let table = Table::new().await;
    let file = Fixture::new("1.1.0", 5_000).file();
    let name = format!("{}.gpu", to_hex(&gatepost_link::Digest::of(&file).0));
    fs::create_dir_all(table.folder.path().join("updates").join(&name)).unwrap();
    let added = table.updates.add(file, "operator:ann").await;
    assert!(matches!(added, Err(AddError::Disk(..))), "{added:?}");
    let left = fs::read_dir(table.folder.path().join("updates")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, [name], "only what stood in its way");
}

#[tokio::test]
async fn an_image_that_was_signed_anew_is_offered_as_it_was_signed_last() {
    let table = Table::new().await;
    let updates = &table.updates;
    table.add("1.1.0").await.unwrap();
    table.is_offered("1.1.0").await;
    let floor = Version::new("1.1.0").unwrap();
    let anew = Fixture::new("1.1.0", 5_000).with(|manifest| manifest.floor = floor);
    updates.add(anew.file(), "operator:ann").await.unwrap();
    assert_eq!(table.offer().await.package.manifest.floor, floor);
    assert_eq!(updates.overview().await.unwrap().releases[0].floor, "1.1.0");
}

#[tokio::test]
async fn a_root_that_came_with_a_release_voids_what_only_the_one_before_it_signed() {
    let table = Table::new().await;
    let updates = &table.updates;
    table.add("1.1.0").await.unwrap();
    table.is_offered("1.1.0").await;
    let by_two = |version| Fixture::new(version, 5_000).with_roots(2).file();
    updates.add(by_two("1.2.0"), "operator:ann").await.unwrap();
    // It was in memory, and is not offered any more.
    let told = async {
        loop {
            let gets = updates.offers().await.unwrap().remove(&HALL);
            assert!(matches!(gets, None | Some(Gets::Soon(_))), "{gets:?}");
            let overview = updates.overview().await.unwrap();
            if let Some(warning) = overview.warnings.into_iter().next() {
                return (warning, overview.root);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let (warning, root) = tokio::time::timeout(Duration::from_secs(60), told).await.expect("it is read");
    assert!(warning.contains("root 2 has replaced that"), "{warning}");
    assert_eq!(root, Some(2));
    let refused = table.add("1.3.0").await.unwrap_err().to_string();
    assert!(refused.starts_with("it is signed by keys of root 1, and root 2 has replaced that"), "{refused}");
    // Signed by the keys of the new one without that itself, companions get it from what the hub has kept.
    let without = Fixture::new("1.4.0", 5_000).signed_by(102);
    updates.add(without, "operator:ann").await.unwrap();
    updates.roll_out(order("1.4.0"), "operator:ann").await.unwrap();
    let package = table.offer().await.package;
    assert_eq!((package.root, package.root_file(2).is_some()), (2, true));
}
