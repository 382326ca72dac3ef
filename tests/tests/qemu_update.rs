//! What an update of the firmware takes: in a file of its own, so that no other test takes the processor meanwhile.
//!
//! Installed by `tests/run --setup-only`: QEMU.

use anyhow::{Result, ensure};
use gatepost_tests::hub::{UpdateFigures, update_figures::IMAGE_BYTES};

#[test]
fn a_megabyte_is_fetched_in_a_minute_a_card_answered_meanwhile_and_the_release_soon_confirmed() -> Result<()>
{
    let figures = UpdateFigures::measure()?;
    let UpdateFigures { fetched, answered, confirmed, log } = &figures;
    println!(
        "{IMAGE_BYTES} bytes: fetched in {} ms, a card answered in {} ms, confirmed {} ms after the restart",
        fetched.as_millis(),
        answered.as_millis(),
        confirmed.as_millis()
    );
    ensure!(figures.hold() == [true; 3], "too slow: {log}");
    Ok(())
}
