//! Fuzz targets: built with libFuzzer by the compiler that is there, and each run for a while.
//!
//! Only Gatepost's own crates tell libFuzzer which branches an input takes (`tests/fuzz/rustc`); what they depend on is the same as
//! in the tests, so little is compiled for this alone. An input that fails stays in `tests/fuzz/artifacts`; what a run learnt
//! stays in `tests/fuzz/corpus`, and the next one goes on from there.

use std::{
    env, fs,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{cargo, root, run, several};

/// What to run.
#[derive(clap::Args)]
pub(crate) struct Wanted {
    /// Targets; all of them if none is named.
    targets: Vec<String>,
    /// How long each of them runs.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// So many inputs at most, and nothing that an earlier run learnt: with a seed, the same ones in every run.
    #[arg(long)]
    inputs: Option<u64>,
    /// Where its random numbers begin; other inputs each time if none is given.
    #[arg(long)]
    seed: Option<u32>,
    /// Only compile them.
    #[arg(long)]
    build_only: bool,
    /// Try this input once, and no others: one that failed before, for instance.
    #[arg(long, requires = "targets")]
    input: Option<PathBuf>,
}

/// Bounds on one input: what takes longer, in seconds, or more memory, in megabytes, has failed.
const LONGEST: u64 = 10;
const MOST_MEMORY: u64 = 512;
/// The longest input, in bytes.
const MAX_INPUT: u64 = 16 * 1024;
/// Inputs a second below which a target stands still, however busy the machine is. One that had come down to 25 went unnoticed.
const SLOWEST: u64 = 50;
/// What a shorter run tries says nothing: it has hardly begun.
const TELLING: Duration = Duration::from_secs(5);

pub(crate) fn fuzz(wanted: &Wanted) -> Result<()> {
    let all = targets()?;
    let targets = if wanted.targets.is_empty() { all.clone() } else { wanted.targets.clone() };
    for target in &targets {
        ensure!(all.contains(target), "there is no target {target}; there are: {}", all.join(", "));
    }
    let programs = build(&targets)?;
    if wanted.build_only {
        return Ok(());
    }
    // As many at once as there are processors.
    let at_once = thread::available_parallelism().map_or(1, NonZero::get);
    let failed: Vec<String> = several(targets, at_once, |target| {
        let error = try_one(&programs, &target, wanted).err()?;
        eprintln!("{target}: {error:#}");
        Some(target)
    })
    .into_iter()
    .flatten()
    .collect();
    ensure!(failed.is_empty(), "these fuzz targets failed: {}", failed.join(", "));
    Ok(())
}

/// The targets' names, in order.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("tests/fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds the targets; the folder that their programs are in.
fn build(targets: &[String]) -> Result<PathBuf> {
    let root = root().canonicalize()?;
    let folder =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    let mut cargo = cargo();
    // In the folder of the tests: what is the same is not compiled again.
    cargo
        .args(["build", "--locked", "--manifest-path", "tests/fuzz/Cargo.toml", "--target-dir"])
        .arg(&folder);
    cargo.args(targets.iter().flat_map(|target| ["--bin", target]));
    run(cargo.env("RUSTC_WRAPPER", root.join("tests/fuzz/rustc")))
        .context("it takes a C++ compiler: apt-get install g++")?;
    Ok(folder.join("debug"))
}

fn try_one(programs: &Path, target: &str, wanted: &Wanted) -> Result<()> {
    let tests = root().canonicalize()?.join("tests/fuzz");
    let fresh = wanted.inputs.map(|_| tempfile::tempdir()).transpose()?;
    let (learnt, artifacts) = (tests.join("corpus").join(target), tests.join("artifacts").join(target));
    let corpus = fresh.as_ref().map_or(learnt, |fresh| fresh.path().to_owned());
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut program = Command::new(programs.join(target));
    program.args([format!("-timeout={LONGEST}"), format!("-rss_limit_mb={MOST_MEMORY}")]);
    program.arg(format!("-artifact_prefix={}/", artifacts.display()));
    match &wanted.input {
        Some(input) => {
            program.arg(input);
        }
        None => {
            program.args([format!("-max_total_time={}", wanted.seconds), format!("-max_len={MAX_INPUT}")]);
            program.args(wanted.inputs.map(|inputs| format!("-runs={inputs}")));
            program.args(wanted.seed.map(|seed| format!("-seed={seed}")));
            program.args(["-print_final_stats=1", "-verbosity=1"]).arg(&corpus);
            let (seeds, words) = (tests.join("seeds").join(target), tests.join("words").join(target));
            program.args(Some(seeds).filter(|seeds| seeds.is_dir()));
            program.args(words.is_file().then(|| format!("-dict={}", words.display())));
        }
    }
    let start = Instant::now();
    let Output { status, stderr, .. } =
        program.output().with_context(|| format!("cannot start {program:?}"))?;
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&stderr);
    if !status.success() {
        let last: Vec<&str> = said.lines().rev().take(60).collect();
        last.iter().rev().for_each(|line| eprintln!("{line}"));
        bail!(
            "{status}; the input is in tests/fuzz/artifacts/{target}, try it with cargo xtask fuzz {target} --input FILE"
        );
    }
    if wanted.input.is_some() {
        println!("{target}: ok");
        return Ok(());
    }
    let stats =
        Stats::read(&said).with_context(|| format!("it did not say how many inputs it tried:\n{said}"))?;
    let rate = stats.rate(took)?;
    println!("{target}: {} inputs, {rate} a second, {} MB", stats.inputs, stats.memory);
    Ok(())
}

/// What libFuzzer says at the end of a run with `-print_final_stats=1`.
#[derive(Debug, PartialEq, Eq)]
struct Stats {
    inputs: u64,
    /// At most, in megabytes.
    memory: u64,
}

impl Stats {
    fn read(said: &str) -> Option<Self> {
        let count =
            |name: &str| said.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            inputs: count("stat::number_of_executed_units:")?,
            memory: count("stat::peak_rss_mb:").unwrap_or_default(),
        })
    }

    /// Inputs a second, by our own clock: libFuzzer counts whole seconds, and says 0 within the first. An error if there were so
    /// few that the run has found nothing out.
    fn rate(&self, took: Duration) -> Result<u64> {
        ensure!(self.inputs > 0, "it tried no input");
        let rate = (self.inputs as f64 / took.as_secs_f64().max(0.001)) as u64;
        ensure!(
            took < TELLING || rate >= SLOWEST,
            "it tried {rate} inputs a second, and less than {SLOWEST} find nothing: {} in {:.0} s. Does it wait for something, or has \
             one of its inputs become so slow? Try the largest of tests/fuzz/corpus alone, with --input",
            self.inputs,
            took.as_secs_f64()
        );
        Ok(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form in which libFuzzer ends.
    const SAID: &str = "\
#30000\tDONE   cov: 412 ft: 1210 corp: 180/11Kb lim: 297 exec/s: 7500 rss: 61Mb
Done 30000 runs in 4 second(s)
stat::number_of_executed_units: 30000
stat::average_exec_per_sec:     7500
stat::new_units_added:          512
stat::slowest_unit_time_sec:    0
stat::peak_rss_mb:              61
";

    #[test]
    fn what_libfuzzer_says_at_the_end_is_read() {
        assert_eq!(Stats::read(SAID), Some(Stats { inputs: 30_000, memory: 61 }));
        assert_eq!(Stats::read("Done 30000 runs in 4 second(s)\n"), None);
        assert_eq!(Stats::read("stat::number_of_executed_units: many\n"), None);
    }

    #[test]
    fn a_target_that_stands_still_fails_and_a_run_that_has_hardly_begun_does_not() {
        let tried =
            |inputs, seconds: u64| Stats { inputs, memory: 0 }.rate(Duration::from_millis(seconds * 1_000));
        assert_eq!(tried(30_000, 4).ok(), Some(7_500));
        assert_eq!(tried(3_000, 60).ok(), Some(SLOWEST));
        let slow = tried(1_500, 60).map_err(|error| error.to_string()).unwrap_err();
        assert!(slow.starts_with("it tried 25 inputs a second"), "{slow}");
        assert_eq!(tried(10, 1).ok(), Some(10));
        assert!(tried(0, 1).is_err());
    }
}
