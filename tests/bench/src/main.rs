//! Measures the budgets of the splitter and prints them as ratios to something in the same run.
//!
//! Machines differ, and so do a machine's minutes: what is compared is measured in turns, and each figure is a median, or a minimum where growth is meant.
//! Read [`plain`] for what is measured, [`document`] for the text that it is measured on.

mod document;
mod measure;
mod plain;

const USAGE: &str = "\
usage: tests/bench/run [--document [BYTES]]

Builds in release and prints, for the plain split: GB/s by unit and mode, the ratio to text-splitter's TextSplitter, and
how the cost grows with the input. It takes about two minutes; nothing else should run beside it.

  --document [BYTES]   print the mixed Markdown document that is measured, of about so many bytes (1,000,000), and end
  -h, --help           this text";

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        None => {}
        Some("-h" | "--help") => return println!("{USAGE}"),
        Some("--document") => {
            let Ok(bytes) = arguments.next().map_or(Ok(MEGABYTE), |bytes| bytes.parse()) else {
                exit_with_usage("--document takes a number of bytes");
            };
            return print!("{}", document::mixed(bytes));
        }
        Some(other) => exit_with_usage(&format!("unknown option {other}")),
    }
    plain::rates();
    plain::growth();
    // The render's figures come here: a module of their own, measured on `document::mixed(MEGABYTE)`.
}

const MEGABYTE: usize = 1_000_000;

fn exit_with_usage(problem: &str) -> ! {
    eprintln!("tests/bench/run: {problem}\n{USAGE}");
    std::process::exit(2)
}
