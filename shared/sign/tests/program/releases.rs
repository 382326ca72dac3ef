//! `release sign`, `add-signature` and `verify`.

use gatepost_link::update::{
    Root, Signed,
    package::{self, Package},
    root::RootFile,
    signed::MAX_SIGNED_BYTES,
};
use gatepost_sign::{
    image::{Board, MAX_IMAGE},
    release::Plan,
};

use crate::desk::{Desk, Said, day};

fn image(board: Board, version: &str) -> Vec<u8> {
    board.image_with(version.parse().unwrap(), &[board as u8; 9_000])
}

/// A root of the key a, with releases by this many of r and s, and an image for each board.
fn desk(threshold: u8) -> Desk {
    let desk = Desk::new();
    desk.keys(&["a", "r", "s"]);
    let keys =
        format!("--root-key a.pub --threshold 1 --release-key r.pub s.pub --release-threshold {threshold}");
    desk.run(&format!("root new {keys} -o root.1")).done();
    desk.run("root sign root.1 --key a.key --yes").done();
    for board in Board::ALL {
        desk.write(&format!("{board}.bin"), image(board, "1.4.0"));
    }
    desk
}

fn root(desk: &Desk, name: &str) -> Root {
    RootFile::from_bytes(&desk.read(name)).unwrap().unverified().clone()
}

/// The arguments of a release, some of them other ones.
fn sign(desk: &Desk, output: &str, others: &[(&str, &str)]) -> Said {
    let year = day(365);
    let mut command = "release sign --yes".to_owned();
    for (option, value) in [
        ("image", "esp32c3.bin"),
        ("board", "esp32c3"),
        ("version", "1.4.0"),
        ("floor", "1.2.0"),
        ("expires", &year),
        ("root", "root.1"),
        ("key", "r.key"),
    ] {
        let other = others.iter().find(|(other, _)| *other == option);
        command += &format!(" --{option} {}", other.map_or(value, |(_, value)| value));
    }
    desk.run(&format!("{command} -o {output}"))
}

#[test]
fn a_release_is_what_a_device_takes() {
    let desk = desk(1);
    let said = sign(&desk, "x.gpu", &[]).done();
    let image = desk.read("esp32c3.bin");
    for part in
        ["esp32c3\n", "version  1.4.0", "floor    1.2.0", &day(365), &format!("{} bytes", image.len())]
    {
        assert!(said.contains(part), "no {part}: {said}");
    }
    let file = desk.read("x.gpu");
    let package = Package::read(&file).unwrap();
    let (_, verified) = package.verified(&root(&desk, "root.1")).unwrap();
    let manifest = verified.manifest();
    assert_eq!((package.image(), package.list().len()), (&image[..], image.len().div_ceil(4096) * 32));
    assert_eq!((manifest.product.name(), manifest.board.name()), (Some("companion"), Some("esp32c3")));
    assert_eq!((manifest.version.to_string(), manifest.floor.to_string()), ("1.4.0".into(), "1.2.0".into()));

    sign(&desk, "again.gpu", &[]).done();
    assert_eq!(desk.read("again.gpu"), file, "the same inputs give the same bytes");
    sign(&desk, "x.gpu", &[]).refused("there already");
    for board in Board::ALL.map(Board::name) {
        let image = format!("{board}.bin");
        let name = format!("{board}.gpu");
        sign(&desk, &name, &[("image", &image), ("board", board)]).done();
        desk.run(&format!("release verify {name} --root root.1 --for-board {board} --running 1.3.0")).done();
    }
}

#[test]
fn what_a_device_refuses_is_not_signed() {
    let desk = desk(1);
    desk.write("large.bin", vec![0; MAX_IMAGE + 1]);
    desk.write("flash.bin", [desk.read("esp32c3.bin"), vec![0xff; 100]].concat());
    desk.write("cut.bin", &desk.read("esp32c3.bin")[..5_000]);
    desk.write("empty.bin", "");
    desk.write("program", "\x7fELF");
    desk.write("old.bin", image(Board::Esp32c3, "1.2.0"));
    desk.write("zero.bin", image(Board::Esp32c3, "0.0.0"));
    desk.fifo("fifo");
    desk.write("huge.bin", vec![0; (16 << 20) + 1]);
    let ending = "--root-key a.pub --threshold 1 --release-key r.pub --release-threshold 1";
    desk.run(&format!("root new {ending} -o unsigned")).done();
    let soon = day(1);
    for (others, because) in [
        (&[("image", "large.bin"), ("board", "qemu-virt")][..], "a slot takes at most 1949696"),
        (&[("image", "huge.bin")], "too much"),
        (&[("image", "flash.bin")], "100 bytes follow the program"),
        (&[("image", "cut.bin")], "damaged or cut short"),
        (&[("image", "empty.bin")], "the image is empty"),
        (&[("image", "program")], "espflash save-image --chip esp32c3"),
        (&[("image", "esp32c6.bin")], "for another chip: number 13, and esp32c3 has number 5"),
        (&[("image", "none.bin")], "none.bin"),
        (&[("board", "esp32s3")], "the boards are esp32c3, esp32c6 and qemu-virt"),
        (&[("floor", "1.4.1")], "the floor 1.4.1 is above the version 1.4.0"),
        (&[("version", "1.4")], "three numbers"),
        (&[("expires", "2026-01-01")], "this machine's clock"),
        (&[("expires", "tomorrow")], "2027-11-26"),
        (&[("root", "unsigned")], "not signed by enough root keys of version 1"),
        (&[("root", "r.pub")], "no root"),
        (&[("root", "root.1 root.1")], "each version once"),
        (&[("key", "a.key")], "no release key of root version 1"),
        (&[("key", "none.key")], "none.key"),
        (&[("image", "zero.bin"), ("version", "0.0.0"), ("floor", "0.0.0")], "release a higher one"),
        (&[("image", "old.bin")], "the image says that it is version 1.2.0, not 1.4.0: give --version 1.2.0"),
        (&[("image", "esp32c3.bin"), ("board", "qemu-virt")], "cargo xtask firmware qemu-virt"),
        (&[("image", "fifo")], "fifo is no file"),
        (&[("image", "/dev/zero")], "/dev/zero is no file"),
        (&[("root", "fifo")], "fifo is no file"),
    ] {
        sign(&desk, "x.gpu", others).refused(because);
        assert!(!desk.path("x.gpu").exists(), "{because}");
    }
    let said = sign(&desk, "x.gpu", &[("expires", &day(1200))]).done();
    assert!(said.contains("in over three years"), "{said}");
    sign(&desk, "y.gpu", &[("expires", &soon)]).done();
}

#[test]
fn two_people_sign_a_release() {
    let desk = desk(2);
    let said = sign(&desk, "x.gpu", &[]).done();
    assert!(said.contains("Signatures missing: 1"), "{said}");
    desk.run("release verify x.gpu --root root.1").refused("not signed by the keys that are trusted");
    desk.run("release add-signature x.gpu --key a.key --yes").refused("no release key");
    let half = desk.read("x.gpu");
    desk.run("release add-signature x.gpu --key r.key --yes").done();
    assert_eq!(desk.read("x.gpu"), half, "the same key again changes nothing");
    let said = desk.run("release add-signature x.gpu --key s.key --yes").done();
    assert!(said.contains("version  1.4.0") && said.contains("signed by enough keys"), "{said}");
    let said = desk.run("release verify x.gpu --root root.1").done();
    for key in ["r.key", "s.key"] {
        assert!(said.contains(&format!("Signed by {}", desk.secret(key).public())), "{said}");
    }

    let mut changed = half.clone();
    *changed.last_mut().unwrap() ^= 1;
    desk.write("changed.gpu", changed);
    desk.run("release add-signature changed.gpu --key s.key --yes").refused("changed.gpu");
    desk.run("release add-signature root.1 --key s.key --yes").refused("not a release");
}

#[test]
fn a_person_hears_whether_a_device_takes_it() {
    let desk = desk(1);
    sign(&desk, "x.gpu", &[]).done();
    let verify = |arguments: &str| desk.run(&format!("release verify x.gpu {arguments}"));
    let said = verify("--root root.1").done();
    assert!(said.contains("esp32c3 that runs something older takes it"), "{said}");
    verify("--root root.1 --for-board esp32c3 --running 1.3.9").done();
    verify("--root root.1 --running 1.4.0").refused("not newer than what runs");
    verify("--root root.1 --for-board esp32c6").refused("for another product or board");
    let other = "--root-key s.pub --threshold 1 --release-key s.pub --release-threshold 1 -o other";
    desk.run(&format!("root new {other}")).done();
    verify("--root other").refused("not signed by the keys that are trusted");
    desk.fifo("fifo");
    desk.run("release verify fifo --root root.1").refused("fifo is no file");
    let whole = desk.read("x.gpu");
    for at in [0, 500, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        desk.write("changed.gpu", changed);
        desk.run("release verify changed.gpu --root root.1").refused("changed.gpu");
    }
}

#[test]
fn a_release_of_another_version_than_its_image_is_told_and_not_signed_by_a_second_person() {
    let desk = desk(1);
    let image = image(Board::Esp32c3, "1.2.0");
    let [version, floor] = ["1.7.0", "1.5.0"].map(|version| version.parse().unwrap());
    let expires = gatepost_sign::date::now() + 1_000_000;
    let plan = Plan { board: Board::Esp32c3, version, floor, expires, image: &image };
    let (manifest, list) = plan.manifest();
    let signature = desk.secret("r.key").sign(&manifest.to_bytes());
    let mut buffer = [0; MAX_SIGNED_BYTES];
    let signed = Signed::new(manifest, &[(0, signature)]).unwrap();
    let signed = signed.to_bytes(&mut buffer);
    desk.write("x.gpu", [package::MAGIC, &[1], &desk.read("root.1"), signed, &list, &image].concat());
    desk.run("release verify x.gpu --root root.1")
        .refused("the image says that it is version 1.2.0, not 1.7.0");
    desk.run("release add-signature x.gpu --key s.key --yes").refused("version 1.2.0, not 1.7.0");
}

#[test]
fn a_release_leads_a_device_from_the_first_root_to_its_keys() {
    let desk = desk(1);
    let change = "--remove-release-key r.pub --expires";
    desk.run(&format!("root rotate root.1 -o root.2 {change} {}", day(30))).done();
    desk.run("root sign root.2 --key a.key --yes").done();
    sign(&desk, "x.gpu", &[("root", "root.2 root.1"), ("key", "s.key")]).refused("root keys of version 1");
    desk.run("root sign root.2 --key a.key --before root.1 --yes").done();
    sign(&desk, "x.gpu", &[("root", "root.2 root.1")]).refused("no release key of root version 2");
    let said = sign(&desk, "x.gpu", &[("root", "root.2 root.1"), ("key", "s.key")]).done();
    assert!(said.contains("root version 2 expires before it"), "{said}");
    let said = desk.run("release verify x.gpu --root root.1").done();
    assert!(said.contains("root version 2, to which root version 1 leads"), "{said}");
    desk.run("release verify x.gpu --root root.2").done();
    let said = sign(&desk, "y.gpu", &[("root", "root.2"), ("key", "s.key")]).done();
    assert!(said.contains("the roots begin with version 2"), "{said}");
}
