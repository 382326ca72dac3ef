//! `root new`, `rotate`, `sign` and `show`.

use gatepost_link::update::root::RootFile;
use gatepost_sign::minisign::Public;

use crate::desk::{Desk, day};

fn root(desk: &Desk, name: &str) -> RootFile {
    RootFile::from_bytes(&desk.read(name)).unwrap()
}

/// A root of the keys a, b and c, two of which must sign, that nobody has signed; r signs releases.
fn first(desk: &Desk) {
    desk.keys(&["a", "b", "c", "d", "r", "s"]);
    let keys = "--root-key a.pub b.pub c.pub --threshold 2 --release-key r.pub --release-threshold 1";
    desk.run(&format!("root new {keys} -o root.1")).done();
}

#[test]
fn two_of_three_replace_a_key_that_was_lost() {
    let desk = Desk::new();
    first(&desk);
    let said = desk.run("root sign root.1 --key a.key --yes").done();
    assert!(
        said.contains("1 more must sign") && root(&desk, "root.1").signed_by_itself().is_none(),
        "{said}"
    );
    desk.run("root sign root.1 --key b.key --yes").done();
    let one = root(&desk, "root.1").signed_by_itself().unwrap().clone();

    let rotate = "root rotate root.1 -o root.2 --remove-root-key c.pub --add-root-key d.pub";
    let said = desk
        .run(&format!("{rotate} --remove-release-key r.pub --add-release-key s.pub --expires {}", day(900)))
        .done();
    assert!(said.contains("root sign root.2 --key K.key --before root.1"), "{said}");
    let said = desk.run("root sign root.2 --key d.key --yes").done();
    assert!(said.contains("Signed as a root key of version 2") && said.contains("sign again"), "{said}");
    // a is a key of both: one command gives both signatures.
    let said = desk.run("root sign root.2 --key a.key --before root.1 --yes").done();
    assert!(said.contains("key of version 1") && said.contains("key of version 2"), "{said}");
    assert!(root(&desk, "root.2").after(&one).is_none());
    // c leaves, and may still sign as one of the root before.
    desk.run("root sign root.2 --key c.key --before root.1 --yes").done();
    let two = root(&desk, "root.2").after(&one).expect("two of both have signed").clone();
    assert_eq!(two.release().keys(), [desk.secret("s.key").public().key]);

    let said = desk.run("root show root.2 --before root.1").done();
    let line = |name: &str, state: &str| {
        let text = String::from_utf8(desk.read(&format!("{name}.pub"))).unwrap();
        format!("  {}  {state}\n", Public::read(&text).unwrap())
    };
    let now = [line("a", "signed"), line("b", "not signed"), line("d", "signed")].concat();
    let before = [line("a", "signed"), line("b", "not signed"), line("c", "signed")].concat();
    for part in [now, before, format!("expires {}", day(900)), "Signed by enough keys.".to_owned()] {
        assert!(said.contains(&part), "no {part}: {said}");
    }
    let said = desk.run("root show root.2").done();
    assert!(said.contains("Signatures by the root before: 2, not checked"), "{said}");
    assert!(said.contains(String::from_utf8(desk.read("s.pub")).unwrap().lines().nth(1).unwrap()), "{said}");
}

#[test]
fn the_same_keys_make_the_same_root() {
    let desk = Desk::new();
    first(&desk);
    let unsigned = desk.read("root.1");
    let keys = "--root-key a.pub --root-key b.pub --root-key c.pub --threshold 2 --release-key r.pub";
    desk.run(&format!("root new {keys} --release-threshold 1 -o again")).done();
    assert_eq!(desk.read("again"), unsigned);
    for name in ["root.1", "again"] {
        desk.run(&format!("root sign {name} --key c.key --yes")).done();
        desk.run(&format!("root sign {name} --key c.key --yes")).done();
    }
    assert_eq!(desk.read("again"), desk.read("root.1"));
    assert_eq!(root(&desk, "again").signatures().len(), 1);
    desk.run(&format!("root new {keys} --release-threshold 1 -o again")).refused("there already");
}

#[test]
fn roots_that_cannot_work_are_not_made_or_signed() {
    let desk = Desk::new();
    first(&desk);
    let make = |arguments: &str| desk.run(&format!("root new {arguments} -o other"));
    let release = "--release-key r.pub --release-threshold 1";
    make(&format!("--root-key a.pub --threshold 2 {release}")).refused("1 root keys of which 2 must sign");
    make(&format!("--root-key a.pub --threshold 0 {release}")).refused("of which 0 must sign");
    make(&format!("--root-key a.pub a.pub --threshold 1 {release}")).refused("1 to 5 different ones");
    make(&format!("--root-key a.pub --threshold 1 {release} --expires {}", day(0))).refused("past");
    make(&format!("--root-key a.pub --threshold 1 {release} --expires soon")).refused("2027-11-26");
    make(&format!("--root-key a.key --threshold 1 {release}")).refused("no public key");
    make("--root-key a.pub --threshold 1 --release-key a.pub b.pub c.pub --release-threshold 3")
        .refused("2 signatures");
    assert!(!desk.path("other").exists());
    let said = make(&format!("--root-key r.pub --threshold 1 {release}")).done();
    assert!(said.contains("signs roots and releases"), "{said}");

    let unsigned = desk.read("root.1");
    desk.run("root sign root.1 --key r.key --yes").refused("no root key of version 1");
    desk.run("root sign root.1 --key a.key --before root.1 --yes").refused("not the one before");
    desk.run("root sign a.pub --key a.key --yes").refused("no root");
    desk.run("root show none").refused("none");
    desk.run("root rotate root.1 -o root.2 --remove-root-key d.pub").refused("has no root key");
    desk.run("root rotate root.1 -o root.2 --add-root-key a.pub").refused("different ones");
    desk.run("root rotate root.1 -o root.2 --remove-release-key r.pub").refused("0 release keys");
    desk.run("root rotate root.1 -o root.1").refused("there already");
    assert!(!desk.path("root.2").exists() && desk.read("root.1") == unsigned);
}
