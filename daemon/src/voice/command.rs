//! Programs that speak: the text on the standard input of the first, Ogg Opus from the standard output of the last. No shell
//! reads the text, and it is nobody's argument.

use std::path::{Path, PathBuf};

use super::{MAX_RECORDING, VoiceError};
use crate::program::{self, Program, ProgramError};

/// Speech at this rate, in kbit/s, is clear and small: RFC 6716 §2.1.1 has 16 to 20 for wideband speech and 28 to 40 for
/// fullband; what `espeak-ng` writes, at 22,050 Hz, lies between.
const BIT_RATE: &str = "24";

/// `espeak-ng` with its voice `voice`, and `opusenc` behind it, where this machine has both.
pub fn usual(voice: Option<&str>) -> Option<Vec<Program>> {
    usual_in(&std::env::var_os("PATH")?, voice)
}

fn usual_in(path: &std::ffi::OsStr, voice: Option<&str>) -> Option<Vec<Program>> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    // Text as UTF-8, all of it before the first word is spoken.
    let mut speaks = words(&["--stdin", "--stdout", "-b", "1"]);
    if let Some(voice) = voice {
        speaks.extend(words(&["-v", voice]));
    }
    // A stream has no length to write into its head. The same words give the same bytes: the number of the stream, which
    // would be dice, is set.
    let encodes = words(&[
        "--quiet",
        "--ignorelength",
        "--speech",
        "--downmix-mono",
        "--bitrate",
        BIT_RATE,
        "--serial",
        "1",
        "-",
        "-",
    ]);
    Some(vec![
        Program { path: found(path, "espeak-ng")?, arguments: speaks },
        Program { path: found(path, "opusenc")?, arguments: encodes },
    ])
}

/// The program of this name in the folders of `path`, which are absolute.
fn found(path: &std::ffi::OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(runs)
}

fn runs(path: &impl AsRef<Path>) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The recording that `programs` make of `words`.
pub(super) async fn speak(programs: &[Program], words: &str) -> Result<Vec<u8>, VoiceError> {
    program::run(programs, &[], words.as_bytes(), MAX_RECORDING).await.map_err(|error| {
        if let ProgramError::Failed { program, stderr, .. } = &error {
            tracing::warn!(program, stderr, "a voice did not do well");
        }
        match error {
            ProgramError::Long(_) => VoiceError::Large,
            error => VoiceError::Program(error),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn the_usual_voice_is_there_only_where_both_programs_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().as_os_str();
        let put = |name: &str, mode| {
            let file = folder.path().join(name);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        };
        put("espeak-ng", 0o755);
        assert!(usual_in(path, None).is_none());
        put("opusenc", 0o644);
        assert!(usual_in(path, None).is_none(), "what cannot be run is not there");
        put("opusenc", 0o755);
        let programs = usual_in(path, Some("de")).unwrap();
        assert!(
            programs[0].path.is_absolute() && programs[0].arguments.ends_with(&["-v".into(), "de".into()])
        );
        assert!(programs[1].path.ends_with("opusenc"));
        assert!(usual_in(std::ffi::OsStr::new("."), None).is_none());
    }
}
