//! Measures the budgets of the splitter, of the renderer, of the text of a turn, of the start and of the queue, and prints them as ratios to
//! something in the same run; and what the queue writes to its disk, which is no ratio.
//!
//! Machines differ, and so do a machine's minutes: what is compared is measured in turns, and each figure is a median,
//! or the least of many where growth is meant, as noise only ever adds.
//! Read [`plain`], [`render`], [`reply`], [`start`], [`queue`], [`update`] and [`wear`] for what is measured, [`document`] for the text that it is measured on.

mod document;
mod measure;
mod plain;
mod queue;
mod render;
mod reply;
mod start;
mod update;
mod wear;

const USAGE: &str = "\
usage: tests/bench/run [plain | render | reply | start | queue [PART] | update | wear [PART] | --document [BYTES]]

Builds in release and prints, for the plain split: GB/s by unit and mode, the ratio to text-splitter's TextSplitter, and
how the cost grows with the input. For the renderer: the ratio to pulldown-cmark's own rate, the time of a reply to all
channels, how the cost grows, and peak memory. For the text of a turn: how the cost of its blocks and quiet tokens grows.
For the start: from nothing to ready, with 100,000 messages in the queue. For the queue: accepting beside a bare SQLite
loop and a bare HTTP endpoint, the time to the platform, messages delivered per second, one text to many
conversations, what somebody does to the agent that it wakes, memory, what waiting for people on five channels costs. For
an update of a companion's firmware, in QEMU: how long it is fetched, a card meanwhile, and until it is confirmed. How a cost
grows is told by the fastest of many runs, as noise only ever adds; all else by medians. It takes some minutes; nothing else should run
beside it.

  render               the renderer only
  plain                the plain split only
  reply                the text of a turn only
  start                the start only
  queue [PART]         the queue only, or its part accept, card (a slow one), broadcast, deliver, turns, memory or
                       receivers (which needs what tests/run --setup-only installs)
  update               the update of a companion only (which needs the same)
  wear [PART]          only where it is named, what a message writes to the disk: bytes, commits and pages by table and index, beside budgets; or its part
                       ways, idle, backup or history. --messages N for the long past (100,000), --idle SECONDS (300)
  --document [BYTES]   print the mixed Markdown document that is measured, of about so many bytes (1,000,000), and end
  -h, --help           this text";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    let all = first.is_none();
    let is = |part: &str| all || first.as_deref() == Some(part);
    match first.as_deref() {
        None | Some("plain" | "render" | "reply" | "start" | "queue" | "update" | "wear") => {}
        Some("-h" | "--help") => return println!("{USAGE}"),
        Some("--document") => {
            let Ok(bytes) = arguments.next().map_or(Ok(MEGABYTE), |bytes| bytes.parse()) else {
                exit_with_usage("--document takes a number of bytes");
            };
            return print!("{}", document::mixed(bytes));
        }
        // What the measurement of memory runs as a process of its own.
        Some("--peak-of") => return render::print_peak_of(&arguments.next().unwrap_or_default()),
        // What the measurement of growth runs as a process of its own.
        Some("--time-of") => {
            let [kind, channel, bytes] = std::array::from_fn(|_| arguments.next().unwrap_or_default());
            return render::print_time_of(&kind, &channel, bytes.parse().unwrap_or(MEGABYTE));
        }
        // What the measurements of the queue run as processes of their own.
        Some("--accept") => {
            return end_with(queue::within_this_process(&arguments.next().unwrap_or_default()));
        }
        Some("--endpoint") => {
            return end_with(queue::serve_endpoint(&arguments.next().unwrap_or_default()));
        }
        Some(other) => exit_with_usage(&format!("unknown option {other}")),
    }
    if is("plain") {
        plain::rates();
        plain::growth();
    }
    if is("render") {
        render::rates();
        render::memory();
        render::growth();
    }
    if is("reply") {
        reply::growth();
    }
    if is("start") {
        end_with(start::with_a_long_queue());
    }
    if is("queue") {
        end_with(queue::measure(arguments.next().as_deref()));
    }
    if is("update") {
        end_with(update::measure());
    }
    // It takes long, and measures no time.
    if first.as_deref() == Some("wear") {
        end_with(wear::measure(&arguments.collect::<Vec<_>>()));
    }
}

fn end_with(outcome: Result<(), Box<dyn std::error::Error>>) {
    if let Err(error) = outcome {
        eprintln!("tests/bench/run: cannot be measured: {error}");
        std::process::exit(1);
    }
}

const MEGABYTE: usize = 1_000_000;

fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "MISSES ITS BUDGET" }
}

fn exit_with_usage(problem: &str) -> ! {
    eprintln!("tests/bench/run: {problem}\n{USAGE}");
    std::process::exit(2)
}
