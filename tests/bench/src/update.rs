//! What new firmware takes on its way into a companion: a board in QEMU, whose clock is this machine's.

use std::error::Error;

use gatepost_tests::hub::{UpdateFigures, update_figures::IMAGE_BYTES};

use crate::verdict;

/// Measures and prints it.
///
/// # Errors
/// There is no QEMU, or the board does not take the update.
pub(crate) fn measure() -> Result<(), Box<dyn Error>> {
    println!("\nupdate of a companion in QEMU, {IMAGE_BYTES} bytes");
    let figures = UpdateFigures::measure()?;
    let measured = [
        ("fetched, a card in between", figures.fetched),
        ("that card: shown, and its decision at the hub", figures.answered),
        ("confirmed after the restart", figures.confirmed),
    ];
    for (((what, took), budget), holds) in measured.iter().zip(UpdateFigures::BUDGETS).zip(figures.hold()) {
        println!("{what}: {} ms; budget {} ms  {}", took.as_millis(), budget.as_millis(), verdict(holds));
    }
    Ok(())
}
