//! The `gatepost` program. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatepost::cli::main()
}
