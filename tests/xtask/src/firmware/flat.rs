//! The image of the emulated board: its program as it lies in memory, behind a header of our own, for a slot of its flash.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_companion::slots::flat::{Flaw, Header, MAX_PROGRAM_BYTES};
use gatepost_link::update::Version;
use object::{
    Endianness,
    elf::{FileHeader32, PT_LOAD},
    read::elf::{ElfFile, ProgramHeader as _},
};

/// Where the program lies, and where it starts (firmware/qemu-virt/memory.x).
const START: u64 = 0x8000_0000;
/// After so long an image on trial is given up: as long as the application itself gives it.
const TRIAL_S: u16 = 180;

/// Writes the image of this program beside it; where it is.
pub(super) fn make(program: &Path) -> Result<PathBuf> {
    let elf = fs::read(program).with_context(|| program.display().to_string())?;
    let flat = flat(&elf).with_context(|| program.display().to_string())?;
    let header = Header {
        length: flat.len() as u32,
        version: version()?,
        trial_s: TRIAL_S,
        built: built()?,
        flaw: Flaw::None,
    };
    let image = program.with_extension("img");
    // Whole at once: somebody else may be reading the one before.
    let mut file = tempfile::NamedTempFile::new_in(program.parent().context("it lies in a folder")?)?;
    std::io::Write::write_all(&mut file, &[&header.to_bytes(&flat)[..], &flat].concat())?;
    file.persist(&image)?;
    println!("qemu-virt: image of {} bytes, version {}", flat.len(), header.version);
    Ok(image)
}

/// What a loader copies to [`START`].
fn flat(elf: &[u8]) -> Result<Vec<u8>> {
    let file = ElfFile::<FileHeader32<Endianness>>::parse(elf)?;
    let endian = file.endian();
    ensure!(u64::from(file.elf_header().e_entry.get(endian)) == START, "it does not start where it begins");
    let mut flat = Vec::new();
    for part in file.elf_program_headers() {
        let bytes = part.data(endian, elf).ok().context("a part is missing")?;
        if part.p_type(endian) != PT_LOAD || bytes.is_empty() {
            continue;
        }
        let at =
            u64::from(part.p_paddr(endian)).checked_sub(START).context("a part lies before its start")?;
        let end = at + bytes.len() as u64;
        ensure!(end <= u64::from(MAX_PROGRAM_BYTES), "a part lies behind the board's memory for programs");
        let at = at as usize;
        flat.resize(flat.len().max(end as usize), 0);
        flat[at..at + bytes.len()].copy_from_slice(bytes);
    }
    Ok(flat)
}

/// `GATEPOST_FIRMWARE_VERSION`, or this repository's.
fn version() -> Result<Version> {
    let named = env::var("GATEPOST_FIRMWARE_VERSION").unwrap_or_else(|_| env!("CARGO_PKG_VERSION").into());
    Version::new(&named).with_context(|| format!("GATEPOST_FIRMWARE_VERSION: {named:?} is not like 1.2.3"))
}

/// `SOURCE_DATE_EPOCH`, as reproducible builds have it (<https://reproducible-builds.org/specs/source-date-epoch/>), or now.
fn built() -> Result<u64> {
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds.parse().with_context(|| format!("SOURCE_DATE_EPOCH: {seconds:?}")),
        Err(_) => Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()),
    }
}
