//! The image of a board's whole flash, read as the chip's own loader reads it: what was made is looked at before anybody
//! writes it to a board.
//!
//! Loader at 0, partition table at 0x8000, the firmware at the first slot:
//! <https://docs.espressif.com/projects/esp-idf/en/stable/esp32c3/api-guides/partition-tables.html> and
//! <https://docs.espressif.com/projects/esptool/en/latest/esp32c3/advanced-topics/firmware-image-format.html>.

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

/// Where the partition table lies, and its bytes.
const TABLE: usize = 0x8000;
const TABLE_SIZE: usize = 0xc00;
/// How an entry of it begins, and how its checksum does.
const ENTRY: [u8; 2] = [0xaa, 0x50];
const CHECKSUM: [u8; 2] = [0xeb, 0xeb];
/// How a program begins.
const PROGRAM: u8 = 0xe9;
/// How the description of an application begins, behind the headers of the program and of its first segment.
const DESCRIPTION: [u8; 4] = 0xabcd_5432_u32.to_le_bytes();
/// Bytes of these two headers.
const HEADER: usize = 24;
const SEGMENT: usize = 8;

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    name: String,
    kind: u8,
    subkind: u8,
    start: u32,
    size: u32,
}

/// Checks an image against the table that it was to have, for the chip of this number; how many bytes the firmware has.
pub(super) fn check(image: &[u8], csv: &str, chip: u16) -> Result<usize> {
    let wanted = read_csv(csv)?;
    let loader = program(image, chip).context("the loader at 0")?;
    ensure!(loader <= TABLE, "the loader reaches into the partition table");
    let table = image.get(TABLE..TABLE + TABLE_SIZE).context("it ends before its partition table")?;
    let found = read_table(table)?;
    ensure!(found == wanted, "its partition table is not partitions.csv's: {found:#x?}");
    let slot = wanted.iter().find(|part| part.name == "ota_0").context("partitions.csv has no ota_0")?;
    let firmware = image.get(slot.start as usize..).context("it ends before its firmware")?;
    let Application { length, .. } = application(firmware, chip).context("the firmware")?;
    ensure!(length <= slot.size as usize, "the firmware has {length} bytes, its slot {}", slot.size);
    Ok(length)
}

/// What an application says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Application {
    /// Its bytes.
    pub(super) length: usize,
    /// Its version.
    pub(super) version: String,
    /// Date and time of its build, UTC.
    pub(super) built: String,
}

/// The application that begins here, for the chip of this number.
pub(super) fn application(bytes: &[u8], chip: u16) -> Result<Application> {
    let length = program(bytes, chip)?;
    let description = bytes.get(HEADER + SEGMENT..length).unwrap_or_default();
    ensure!(description.starts_with(&DESCRIPTION), "it does not say what it is");
    // Texts of `esp_app_desc_t`, filled up with zeros.
    let text = |at: usize, length: usize| {
        let text = description.get(at..at + length).unwrap_or_default();
        String::from_utf8_lossy(text.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    };
    let built = format!("{} {}", text(96, 16), text(80, 16));
    Ok(Application { length, version: text(16, 32), built })
}

/// The length of the program that begins here, if it is whole: its segments, its checksum, and its hash.
fn program(bytes: &[u8], chip: u16) -> Result<usize> {
    let head = bytes.get(..HEADER).context("it is not there")?;
    ensure!(head[0] == PROGRAM, "it does not begin as a program does: {:#x}", head[0]);
    let found = u16::from_le_bytes([head[12], head[13]]);
    ensure!(found == chip, "it is for another chip: {found}, not {chip}");
    let (mut at, mut sum) = (HEADER, 0xef);
    for _ in 0..head[1] {
        let segment = bytes.get(at..at + SEGMENT).context("a segment is missing")?;
        let length = u32::from_le_bytes([segment[4], segment[5], segment[6], segment[7]]) as usize;
        at += SEGMENT;
        let data = bytes.get(at..at + length).context("a segment is cut short")?;
        sum = data.iter().fold(sum, |sum, byte| sum ^ byte);
        at += length;
    }
    // The checksum is the last of sixteen bytes.
    let end = (at / 16 + 1) * 16;
    ensure!(bytes.get(end - 1) == Some(&sum), "its checksum is another");
    if head[23] != 1 {
        return Ok(end);
    }
    let hash = bytes.get(end..end + 32).context("its hash is missing")?;
    ensure!(Sha256::digest(&bytes[..end])[..] == *hash, "its hash is another");
    Ok(end + 32)
}

fn read_table(table: &[u8]) -> Result<Vec<Partition>> {
    let mut found = Vec::new();
    for entry in table.chunks_exact(32) {
        let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        match [entry[0], entry[1]] {
            ENTRY => {
                let name = entry[12..28].split(|byte| *byte == 0).next().unwrap_or_default();
                let name = String::from_utf8(name.to_vec()).context("a name is no text")?;
                found.push(Partition {
                    name,
                    kind: entry[2],
                    subkind: entry[3],
                    start: word(4),
                    size: word(8),
                });
            }
            // Of the entries before it: the loader does not start without the right one.
            CHECKSUM | [0xff, 0xff] => break,
            other => bail!("an entry of the partition table begins with {other:x?}"),
        }
    }
    Ok(found)
}

/// Reads `partitions.csv`: Name, Type, SubType, Offset, Size.
fn read_csv(csv: &str) -> Result<Vec<Partition>> {
    let rows = csv.lines().map(|row| row.split('#').next().unwrap_or_default().trim());
    rows.filter(|row| !row.is_empty())
        .map(|row| {
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let [name, kind, subkind, start, size, ..] = cells[..] else { bail!("too short a row: {row}") };
            let kind = match kind {
                "app" => 0,
                "data" => 1,
                other => number(other)?,
            };
            let subkind = match subkind {
                "ota" => 0,
                "phy" => 1,
                "ota_0" => 0x10,
                "ota_1" => 0x11,
                other => number(other)?,
            };
            Ok(Partition {
                name: name.to_owned(),
                kind: u8::try_from(kind)?,
                subkind: u8::try_from(subkind)?,
                start: number(start)?,
                size: number(size)?,
            })
        })
        .collect()
}

fn number(text: &str) -> Result<u32> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.with_context(|| format!("{text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = include_str!("../../../../firmware/esp32/partitions.csv");
    const CHIP: u16 = 5;

    /// A program of two segments, the first of which begins with these bytes.
    fn made(chip: u16, begins: &[u8]) -> Vec<u8> {
        let mut program = vec![0; HEADER];
        (program[0], program[1], program[23]) = (PROGRAM, 2, 1);
        program[12..14].copy_from_slice(&chip.to_le_bytes());
        let first = [begins, &[3; 300]].concat();
        let mut sum = 0xef;
        for (address, data) in [(0x3c00_0020_u32, &first[..]), (0x4038_0000, &[7; 41])] {
            program.extend(address.to_le_bytes());
            program.extend((data.len() as u32).to_le_bytes());
            program.extend(data);
            sum = data.iter().fold(sum, |sum, byte| sum ^ byte);
        }
        program.resize(program.len() / 16 * 16 + 15, 0);
        program.push(sum);
        let hash = Sha256::digest(&program);
        program.extend(hash);
        program
    }

    fn image() -> Vec<u8> {
        let mut image = made(CHIP, &[]);
        image.resize(TABLE, 0xff);
        for part in read_csv(CSV).unwrap() {
            let mut entry = [&ENTRY[..], &[part.kind, part.subkind]].concat();
            entry.extend(part.start.to_le_bytes());
            entry.extend(part.size.to_le_bytes());
            entry.extend(part.name.bytes());
            entry.resize(32, 0);
            image.extend(entry);
        }
        image.extend(CHECKSUM);
        image.resize(0x10000, 0xff);
        image.extend(made(CHIP, &DESCRIPTION));
        image
    }

    #[test]
    fn an_image_as_it_should_be_is_taken() {
        assert_eq!(check(&image(), CSV, CHIP).unwrap(), made(CHIP, &DESCRIPTION).len());
    }

    #[test]
    fn an_image_that_a_chip_would_not_start_is_refused() {
        let spoilt = |at: usize, byte: u8| {
            let mut image = image();
            image[at] = byte;
            format!("{:#}", check(&image, CSV, CHIP).unwrap_err())
        };
        assert!(spoilt(0, 0).contains("loader") && spoilt(100, 0).contains("checksum"));
        assert!(spoilt(TABLE + 4, 9).contains("partitions.csv") && spoilt(TABLE, 0).contains("begins with"));
        assert!(spoilt(0x10000, 0).contains("the firmware") && spoilt(0x1000c, 13).contains("another chip"));
        assert!(spoilt(0x10000 + HEADER + SEGMENT, 0).contains("checksum"));
        let undescribed = [&image()[..0x10000], &made(CHIP, &[])].concat();
        assert!(format!("{:#}", check(&undescribed, CSV, CHIP).unwrap_err()).contains("what it is"));
        for length in [0, 10, TABLE, 0x10000, 0x10000 + 50, image().len() - 1] {
            assert!(check(&image()[..length], CSV, CHIP).is_err(), "{length}");
        }
    }

    #[test]
    fn an_application_says_its_version_and_when_it_was_built() {
        let mut description = [0; 256];
        for (at, text) in
            [(0, &DESCRIPTION[..]), (16, b"1.4.0"), (48, b"name"), (80, b"22:13:20"), (96, b"2023-11-14")]
        {
            description[at..at + text.len()].copy_from_slice(text);
        }
        let bytes = made(CHIP, &description);
        let said = Application {
            length: bytes.len(),
            version: "1.4.0".to_owned(),
            built: "2023-11-14 22:13:20".to_owned(),
        };
        assert_eq!(application(&bytes, CHIP).unwrap(), said);
        assert!(application(&bytes, 13).is_err() && application(&bytes[..bytes.len() - 1], CHIP).is_err());
    }

    #[test]
    fn the_table_has_two_slots_of_a_size_and_all_of_it_fits_4_mb() {
        let table = read_csv(CSV).unwrap();
        let slots: Vec<u32> = table.iter().filter(|part| part.kind == 0).map(|part| part.size).collect();
        assert!(slots.len() == 2 && slots[0] == slots[1]);
        for pair in table.windows(2) {
            assert!(pair[0].start + pair[0].size <= pair[1].start, "{pair:?} overlap");
        }
        let end = table.last().map(|part| part.start + part.size).unwrap();
        assert!(end <= 4 << 20 && table[0].start as usize >= TABLE + TABLE_SIZE);
    }
}
