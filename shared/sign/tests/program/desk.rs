//! A folder in which the program is run.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatepost_sign::{
    date,
    minisign::{Secret, SecretFile},
};
use tempfile::TempDir;

/// A time by which a program that asks has asked, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Desk(TempDir);

/// What a run of the program said, standard error behind standard output.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

impl Said {
    /// What it said, if it did what it was told.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert!(self.ok, "{}", self.text);
        self.text
    }

    /// What it said, if it refused and said this.
    #[track_caller]
    pub(crate) fn refused(self, because: &str) -> String {
        assert!(!self.ok && self.text.contains(because), "not {because:?}: {}", self.text);
        self.text
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Makes a pipe that nobody writes to.
    pub(crate) fn fifo(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status().unwrap();
        assert!(made.success());
    }

    /// Keys without a password, by their names.
    pub(crate) fn keys(&self, names: &[&str]) {
        for name in names {
            self.run(&format!("key new {name}.key --no-password")).done();
        }
    }

    /// The key of a file without a password.
    pub(crate) fn secret(&self, name: &str) -> Secret {
        let text = String::from_utf8(self.read(name)).unwrap();
        SecretFile::read(&text).unwrap().open(None).unwrap()
    }

    /// Runs the program with these words, nobody at a terminal.
    pub(crate) fn run(&self, words: &str) -> Said {
        let mut program = Command::new(env!("CARGO_BIN_EXE_gatepost-sign"));
        program.args(words.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        let output = program.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        self.assert_no_secret(&text);
        Said { ok: output.status.success(), text }
    }

    /// Runs the program at a terminal, where each question is answered once it is there.
    pub(crate) fn run_at_terminal(&self, words: &str, answers: &[(&str, &str)]) -> Said {
        let program = format!("tty; exec {} {words}", env!("CARGO_BIN_EXE_gatepost-sign"));
        let mut script = Command::new("script");
        script.args(["-qefc", &program, "/dev/null"]).current_dir(self.0.path());
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (said, hears) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if said.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (mut all, mut seen) = (Vec::new(), 0);
        for (question, answer) in answers {
            while !String::from_utf8_lossy(&all[seen..]).contains(question) {
                match hears.recv_timeout(PATIENCE) {
                    Ok(more) => all.extend(more),
                    Err(error) => {
                        _ = script.kill();
                        panic!("no {question:?} ({error}): {}", String::from_utf8_lossy(&all));
                    }
                }
            }
            seen = all.len();
            // The program shows the question first, and hides what is typed after that.
            if question.ends_with(": ") {
                let said = String::from_utf8_lossy(&all);
                hides_typing(said.lines().next().unwrap().trim());
            }
            input.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
        all.extend(hears.iter().flatten());
        reader.join().unwrap();
        let ok = script.wait().unwrap().success();
        let text = String::from_utf8(all).unwrap();
        self.assert_no_secret(&text);
        Said { ok, text }
    }

    /// No key of this folder is in a text, neither as its file has it nor as bytes in base64 or digits.
    #[track_caller]
    fn assert_no_secret(&self, text: &str) {
        for entry in fs::read_dir(self.0.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "key") {
                continue;
            }
            let file = fs::read_to_string(path).unwrap();
            let Some(line) = file.lines().nth(1) else { continue };
            let bytes = STANDARD.decode(line).unwrap_or_default();
            // Of what lies behind the key's number: the seed.
            let seed = bytes.get(62..94).unwrap_or(&[1; 32]);
            let digits: String = seed.iter().map(|byte| format!("{byte:02x}")).collect();
            for secret in [line.to_owned(), STANDARD.encode(seed), digits, format!("{seed:?}")] {
                assert!(!text.contains(&secret), "it shows a secret key: {text}");
            }
        }
    }
}

/// Waits until a terminal does not show what is typed.
fn hides_typing(terminal: &str) {
    let begin = Instant::now();
    let hides = || {
        let settings = Command::new("stty").args(["-F", terminal, "-a"]).output().unwrap();
        String::from_utf8_lossy(&settings.stdout).contains(" -echo ")
    };
    while !hides() {
        assert!(begin.elapsed() < PATIENCE, "{terminal} shows what is typed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The day that is this many days from now.
pub(crate) fn day(days: i64) -> String {
    let day = 24 * 60 * 60;
    let today = date::now() / day * day;
    date::words(today.checked_add_signed(days * day as i64).unwrap())
}
