//! A board is written over its serial port: at a stand-in for its ROM, which Espressif's own esptool writes as well.
//!
//! Installed by `tests/run --setup-only`: esptool.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_flash::{
    Board,
    image::{Image, SLOT},
    install::{self, InstallError, Progress},
};
use gatepost_link::update::Version;
use gatepost_sign::image::Board as Signed;
use gatepost_tests::{
    hub::{eventually, program::flasher},
    peers::{
        esp_rom::{EspRom, FLASH, Fault, pseudo_terminal},
        python,
    },
};

/// The numbers of chips (`esp_chip_id_t`).
const C3: u32 = 5;
const C6: u32 = 13;
const S3: u32 = 9;

/// Firmware of a length that no block of the flash has.
fn image(board: Board) -> Result<Image> {
    let signed = match board {
        Board::Esp32c3 => Signed::Esp32c3,
        Board::Esp32c6 => Signed::Esp32c6,
    };
    let content: Vec<u8> = (0..150_001_u32).map(|at| at.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]).collect();
    let version = Version { major: 1, minor: 4, patch: 0 };
    Ok(Image::of(&signed.image_with(version, &content), board)?)
}

/// Writes the image, and checks that the flash has it and nothing else.
fn written(rom: &EspRom, image: &Image) -> Result<Vec<Progress>> {
    let mut told = Vec::new();
    install::write(&rom.port(), image, &mut |step| told.push(step))?;
    let flash = rom.flash();
    ensure!(flash[..image.bytes.len()] == image.bytes[..], "it has other bytes");
    ensure!(flash[image.bytes.len().next_multiple_of(1024)..SLOT.end].iter().all(|byte| *byte == 0xff));
    ensure!(rom.restarts() == 1, "{} restarts", rom.restarts());
    Ok(told)
}

#[test]
fn each_board_is_known_by_its_chip_and_gets_its_image_byte_by_byte() -> Result<()> {
    for (chip, board) in [(C3, Board::Esp32c3), (C6, Board::Esp32c6)] {
        let (rom, image) = (EspRom::start(chip, Fault::None)?, image(board)?);
        ensure!(install::detect(&rom.port())? == board);
        let keys = [7; 4096];
        rom.put(0x3d_0000, &keys);
        // What an earlier firmware has left: the choice of the other slot.
        rom.put(0x9000, &[0; 64]);
        let told = written(&rom, &image)?;
        ensure!(told.first() == Some(&Progress::Board(board)));
        let all = image.bytes.len();
        ensure!(told.last() == Some(&Progress::Written(all, all)) && !told.contains(&Progress::Again));
        ensure!(rom.flash()[0x3d_0000..][..keys.len()] == keys, "what a device keeps stays");
    }
    Ok(())
}

#[test]
fn a_frame_that_is_lost_and_one_that_is_refused_are_written_again_and_no_more_than_their_piece() -> Result<()>
{
    let image = image(Board::Esp32c3)?;
    let without = EspRom::start(C3, Fault::None)?;
    written(&without, &image)?;
    for fault in [Fault::Drops(100), Fault::Refuses(100)] {
        let rom = EspRom::start(C3, fault)?;
        let told = written(&rom, &image)?;
        ensure!(told.iter().filter(|step| **step == Progress::Again).count() == 1);
        ensure!(rom.frames() <= without.frames() + 64, "{} and {}", rom.frames(), without.frames());
    }
    Ok(())
}

#[test]
fn a_board_that_has_the_firmware_already_is_written_in_no_frame() -> Result<()> {
    let (rom, image) = (EspRom::start(C3, Fault::None)?, image(Board::Esp32c3)?);
    install::write(&rom.port(), &image, &mut |_| {})?;
    let frames = rom.frames();
    install::write(&rom.port(), &image, &mut |_| {})?;
    ensure!((rom.frames(), rom.restarts()) == (frames, 2));
    Ok(())
}

#[test]
fn a_port_that_goes_away_is_named_with_what_the_board_is_now() -> Result<()> {
    let (rom, image) = (EspRom::start(C3, Fault::Leaves(100))?, image(Board::Esp32c3)?);
    let error = install::write(&rom.port(), &image, &mut |_| {}).unwrap_err();
    ensure!(matches!(error, InstallError::GoneWhileWriting(_)), "{error}");
    ensure!(error.to_string().contains("no whole firmware now"), "{error}");
    Ok(())
}

#[test]
fn a_board_that_only_restarts_is_not_listened_to_for_ever() -> Result<()> {
    let rom = EspRom::start(C3, Fault::Restarts(20))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("firmware.bin");
    fs::write(&file, image(Board::Esp32c3)?.bytes)?;
    let mut command = Command::new(flasher()?);
    command.args(["write", "--patience", "5", "--port"]).arg(rom.port()).arg("--").arg(&file);
    let ended = command.output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    ensure!(!ended.status.success() && said.contains("the board answers no more"), "{said}");
    Ok(())
}

#[test]
fn a_board_is_looked_for_no_longer_than_it_is_said() -> Result<()> {
    let (mut board, port) = pseudo_terminal()?;
    let mut looking = Command::new(flasher()?)
        .args(["detect", "--patience", "2", "--port"])
        .arg(port)
        .stdout(Stdio::piped())
        .spawn()?;
    // It says something now and then, and never an answer.
    while looking.try_wait()?.is_none() {
        board.write_all(&[0xc0])?;
        thread::sleep(Duration::from_millis(200));
    }
    let said = String::from_utf8(looking.wait_with_output()?.stdout)?;
    ensure!(said.contains("the board answers no more"), "{said}");
    Ok(())
}

#[test]
fn who_looks_for_a_board_ends_with_whoever_started_it() -> Result<()> {
    let (_board, port) = pseudo_terminal()?;
    let script = r#""$0" detect --patience 600 --port "$1" >/dev/null & echo $!; wait"#;
    let mut shell =
        Command::new("sh").args(["-c", script]).arg(flasher()?).arg(port).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(shell.stdout.take().context("a pipe")?).read_line(&mut line)?;
    let started = Path::new("/proc").join(line.trim());
    ensure!(started.exists(), "it runs: {line}");
    shell.kill()?;
    shell.wait()?;
    // Nobody may be there to bury it.
    let is_over = || match fs::read_to_string(started.join("stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    eventually("it has ended", || Ok(is_over().then_some(())))
}

#[test]
fn another_chip_is_refused_before_anything_is_written() -> Result<()> {
    let rom = EspRom::start(S3, Fault::None)?;
    let error = install::write(&rom.port(), &image(Board::Esp32c3)?, &mut |_| {}).unwrap_err();
    ensure!(error.to_string().contains("ESP32S3. They run on an ESP32-C3 or ESP32-C6"), "{error}");
    ensure!(rom.flash() == vec![0xff; FLASH]);
    Ok(())
}

#[test]
fn where_nothing_answers_it_is_said_which_button_is_held() -> Result<()> {
    let (line, port) = pseudo_terminal()?;
    let began = Instant::now();
    let error = install::detect(&port).unwrap_err();
    ensure!(error.to_string().contains("hold BOOT"), "{error}");
    ensure!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    drop(line);
    Ok(())
}

#[test]
fn espressifs_own_tool_writes_the_stand_in_to_the_same_bytes() -> Result<()> {
    let (ours, theirs) = (EspRom::start(C3, Fault::None)?, EspRom::start(C3, Fault::None)?);
    let image = image(Board::Esp32c3)?;
    written(&ours, &image)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("image.bin");
    fs::write(&file, &image.bytes)?;
    let mut esptool = Command::new(python()?);
    esptool.args(["-m", "esptool", "--chip", "esp32c3", "--no-stub", "--before", "no-reset"]);
    esptool.args(["--after", "no-reset", "--port"]).arg(theirs.port());
    let said = esptool.args(["write-flash", "0x0"]).arg(&file).output()?;
    let text = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    ensure!(said.status.success() && text.contains("Hash of data verified"), "{text}");
    ensure!(ours.flash() == theirs.flash(), "two flashes");
    Ok(())
}
