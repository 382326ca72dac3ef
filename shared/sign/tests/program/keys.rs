//! `key new`, and the passwords of keys.

use std::{fs, os::unix::fs::PermissionsExt as _};

use gatepost_sign::minisign::Public;

use crate::desk::Desk;

#[test]
fn a_key_is_its_owners_alone_and_is_never_overwritten() {
    let desk = Desk::new();
    let said = desk.run("key new a.key --no-password").done();
    let mode = |name| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a.key"), mode("a.pub")), (0o600, 0o644));
    let public = Public::read(&String::from_utf8(desk.read("a.pub")).unwrap()).unwrap();
    assert_eq!(public, desk.secret("a.key").public());
    assert!(said.contains(&public.to_string()) && said.contains("no password"), "{said}");

    let (key, public) = (desk.read("a.key"), desk.read("a.pub"));
    desk.run("key new a.key --no-password").refused("a.key is there already");
    fs::rename(desk.path("a.key"), desk.path("b.key")).unwrap();
    desk.run("key new a.key --no-password").refused("a.pub is there already");
    assert!(!desk.path("a.key").exists() && desk.read("a.pub") == public && desk.read("b.key") == key);
    desk.run("key new c --no-password").refused("NAME.key");
    desk.run("key new c.pub --no-password").refused("NAME.key");
    desk.run("key new none/c.key --no-password").refused("No such file");
}

#[test]
fn a_key_with_a_password_signs_with_that_password_only() {
    let desk = Desk::new();
    desk.write("right", "correct horse\n");
    desk.write("wrong", "correct horsf\n");
    desk.write("empty", "\n");
    desk.write("SHA256SUMS", "sums\n");
    let said = desk.run("key new a.key --password-file right --memory 16").done();
    assert!(!said.contains("correct horse"), "{said}");
    desk.run("file sign SHA256SUMS --key a.key --yes --password-file wrong").refused("the password is wrong");
    desk.run("file sign SHA256SUMS --key a.key --yes --password-file empty").refused("1 to 1024 bytes");
    desk.run("file sign SHA256SUMS --key a.key --yes --password-file none").refused("none");
    assert!(!desk.path("SHA256SUMS.minisig").exists());
    desk.run("file sign SHA256SUMS --key a.key --yes --password-file right").done();
    desk.run("key new b.key --password-file empty").refused("1 to 1024 bytes");
    desk.run("key new b.key --password-file right --memory 17").refused("a power of two");
    assert!(!desk.path("b.key").exists() && !desk.path("b.pub").exists());
}

#[test]
fn at_a_terminal_a_password_is_typed_twice_and_not_shown() {
    let desk = Desk::new();
    let (first, again) = ("Password for the new key: ", "The same again: ");
    let typed = [(first, "correct horse"), (again, "correct horsf")];
    let said = desk.run_at_terminal("key new a.key --memory 16", &typed).refused("not the same");
    assert!(!said.contains("horse") && !desk.path("a.key").exists(), "{said}");
    desk.run_at_terminal("key new a.key --memory 16", &[(first, "")]).refused("--no-password");

    let typed = [(first, "correct horse"), (again, "correct horse")];
    let said = desk.run_at_terminal("key new a.key --memory 16", &typed).done();
    assert!(!said.contains("horse"), "{said}");
    desk.write("SHA256SUMS", "sums\n");
    let sign = "file sign SHA256SUMS --key a.key";
    let password = ("Password of a.key: ", "correct horse");
    for no in ["", "n", "no"] {
        desk.run_at_terminal(sign, &[password, ("Sign it? [y/N] ", no)]).refused("nothing was signed");
    }
    assert!(!desk.path("SHA256SUMS.minisig").exists());
    let said = desk.run_at_terminal(sign, &[password, ("Sign it? [y/N] ", "y")]).done();
    assert!(!said.contains("horse") && desk.path("SHA256SUMS.minisig").exists(), "{said}");
}

#[test]
fn nobody_at_a_terminal_is_nobody_who_agreed() {
    let desk = Desk::new();
    desk.keys(&["a"]);
    desk.write("SHA256SUMS", "sums\n");
    let said = desk.run("file sign SHA256SUMS --key a.key").refused("--yes");
    assert!(said.contains("To be signed, a file: SHA256SUMS"), "{said}");
    assert!(!desk.path("SHA256SUMS.minisig").exists());
}

#[test]
fn a_key_that_others_may_read_is_said_and_what_is_no_key_is_refused() {
    let desk = Desk::new();
    desk.keys(&["a"]);
    desk.write("SHA256SUMS", "sums\n");
    fs::set_permissions(desk.path("a.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let said = desk.run("file sign SHA256SUMS --key a.key --yes").done();
    assert!(said.contains("chmod 600 a.key"), "{said}");
    desk.run("file sign a.pub --key a.pub --yes").refused("no secret key");
    desk.write("large", vec![b'x'; 9000]);
    desk.run("file sign a.pub --key large --yes").refused("too much");
    desk.write("bytes", [0xff; 100]);
    desk.run("file sign a.pub --key bytes --yes").refused("not text");
}
