//! The README's commands, one after the other.

use gatepost_sign::image::Board;

use crate::desk::{Desk, day};

#[test]
fn what_the_readme_tells_to_do_works() {
    let desk = Desk::new();
    desk.write("firmware.bin", Board::Esp32c3.image_with("1.4.0".parse().unwrap(), &[7; 9_000]));
    desk.write("SHA256SUMS", "sums\n");
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let mut commands = 0;
    for command in readme.lines().filter_map(|line| line.strip_prefix("gatepost-sign ")) {
        // Nobody is here to type and to agree, and its days pass.
        let year = day(365);
        let mut words: Vec<&str> = command.split(' ').collect();
        if let Some(at) = words.iter().position(|word| *word == "--expires") {
            words[at + 1] = &year;
        }
        words.extend(match words[..2] {
            ["key", "new"] => Some("--no-password"),
            [_, "sign"] => Some("--yes"),
            _ => None,
        });
        let said = desk.run(&words.join(" ")).done();
        assert!(!said.contains("Warning"), "{command}: {said}");
        commands += 1;
    }
    assert_eq!(commands, 17);
    let said = desk.run("root show root.2 --before root.1").done();
    assert!(said.ends_with("Signed by enough keys.\n"), "{said}");
}
