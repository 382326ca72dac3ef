//! `file sign` and `verify`, and minisign itself, if it is here.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use crate::desk::Desk;

const PASSWORD: &str = "correct horse\n";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.keys(&["a", "b"]);
    desk.write("SHA256SUMS", "e3b0c442  companion.gpu\n");
    desk
}

#[test]
fn a_file_is_what_a_key_signed_or_it_is_refused() {
    let desk = desk();
    let said = desk.run("file sign SHA256SUMS --key a.key --yes").done();
    assert!(said.contains("24 bytes, SHA-256") && said.contains("file:SHA256SUMS"), "{said}");
    let said = desk.run("file verify SHA256SUMS --pub a.pub").done();
    assert!(said.contains("\"file:SHA256SUMS\""), "{said}");
    let signature = desk.read("SHA256SUMS.minisig");
    desk.run("file sign SHA256SUMS --key a.key --yes").refused("there already");
    std::fs::rename(desk.path("SHA256SUMS.minisig"), desk.path("first")).unwrap();
    desk.run("file sign SHA256SUMS --key a.key --yes").done();
    assert_eq!(desk.read("SHA256SUMS.minisig"), signature, "the same inputs give the same bytes");
    desk.run("file verify SHA256SUMS --pub a.pub --signature first").done();

    desk.run("file verify SHA256SUMS --pub b.pub").refused("signed it, not");
    desk.run("file verify SHA256SUMS --pub a.key").refused("no public key");
    desk.run("file verify SHA256SUMS --pub a.pub --signature a.pub").refused("no signature");
    desk.run("file verify a.pub --pub a.pub").refused("a.pub.minisig");
    desk.write("SHA256SUMS", "e3b0c443  companion.gpu\n");
    desk.run("file verify SHA256SUMS --pub a.pub").refused("do not use it");
}

/// Runs Debian's minisign, by hand installed with `apt-get install minisign`; [`None`] if it is not here.
fn minisign(desk: &Desk, words: &str) -> Option<bool> {
    let mut program = Command::new("minisign");
    program.args(words.split(' ')).current_dir(desk.path("")).stdin(Stdio::piped()).stdout(Stdio::null());
    match program.spawn() {
        Ok(mut running) => {
            // It asks only for keys that have one, and may have ended without reading.
            _ = running.stdin.take().unwrap().write_all(PASSWORD.as_bytes());
            Some(running.wait().unwrap().success())
        }
        Err(error) => {
            eprintln!("skipped: minisign is not here ({error}); apt-get install minisign");
            None
        }
    }
}

#[test]
fn minisign_itself_verifies_files_and_signs_with_our_keys() {
    let desk = desk();
    desk.run("file sign SHA256SUMS --key a.key --yes").done();
    let Some(verified) = minisign(&desk, "-Vm SHA256SUMS -p a.pub") else { return };
    assert!(verified);
    assert_eq!(minisign(&desk, "-Vm SHA256SUMS -p b.pub"), Some(false));
    assert_eq!(minisign(&desk, "-Sm SHA256SUMS -s b.key -x theirs"), Some(true));
    desk.run("file verify SHA256SUMS --pub b.pub --signature theirs").done();
    desk.write("password", PASSWORD);
    desk.run("key new c.key --password-file password --memory 16").done();
    assert_eq!(minisign(&desk, "-Sm SHA256SUMS -s c.key -x with-password"), Some(true));
    desk.run("file verify SHA256SUMS --pub c.pub --signature with-password").done();
    assert_eq!(minisign(&desk, "-GW -p m.pub -s m.key"), Some(true));
    desk.run("file sign m.pub --key m.key --yes").done();
    assert_eq!(minisign(&desk, "-Vm m.pub -p m.pub"), Some(true));
    desk.write("SHA256SUMS", "e3b0c443  companion.gpu\n");
    assert_eq!(minisign(&desk, "-Vm SHA256SUMS -p a.pub"), Some(false));
}
