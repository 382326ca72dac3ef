//! Everything that a platform can send, fed to a hub that runs: it is counted with its reason or told as far as it goes, and the
//! message behind it comes. Each receiver has a table.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::hub::{SpawnedHub, client::text, eventually};

use super::book;

/// What is to become of something hostile.
#[derive(Debug, Clone, Copy)]
pub(super) enum Becomes {
    /// A message, whose last word is this.
    Message(&'static str),
    /// A drop: its reason, and what it is called.
    Drop(&'static str, &'static str),
}

/// The last word of a text whose end is left out: `[968000 bytes are left out]`.
pub(super) const LEFT_OUT: &str = "out]";

/// The word behind the hostile thing of this number, which must come.
pub(super) fn good(number: usize) -> String {
    format!("good{number:03}")
}

/// What an account of this channel has left out, as the operator is told: how often, by why and what.
pub(super) fn dropped(hub: &SpawnedHub, channel: &str) -> Result<BTreeMap<(String, String), u64>> {
    let told = hub.operator()?.get("/v1/channels")?.body;
    let accounts = told["channels"].as_array().context("a list")?;
    let mut all = BTreeMap::new();
    for one in accounts.iter().filter(|one| one["channel"] == channel) {
        for dropped in one["dropped"].as_array().into_iter().flatten() {
            let count = dropped["count"].as_u64().context("a count")?;
            all.insert((text(dropped, "reason").to_owned(), text(dropped, "what").to_owned()), count);
        }
    }
    Ok(all)
}

/// Checks that all of it became what it is to be, and that what was good came; nothing else was told to anybody.
pub(super) fn became(hub: &SpawnedHub, channel: &str, cases: &[Becomes]) -> Result<()> {
    let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut words: Vec<String> = (0..cases.len()).map(good).collect();
    for case in cases {
        match case {
            Becomes::Message(word) => words.push((*word).to_owned()),
            Becomes::Drop(why, what) => *expected.entry(((*why).into(), (*what).into())).or_default() += 1,
        }
    }
    let data_dir = hub.data_dir();
    let came = eventually("what is good came", || {
        let rows = book::rows(&data_dir)?;
        let missing: Vec<_> = words.iter().filter(|word| !rows.contains_key(*word)).collect();
        Ok(missing.is_empty().then_some(rows))
    });
    let came = came.with_context(|| {
        let rows = book::rows(&data_dir).unwrap_or_default();
        let missing: Vec<_> = words.iter().filter(|word| !rows.contains_key(*word)).collect();
        format!("missing are {missing:?}; dropped is {:?}", dropped(hub, channel))
    })?;
    let strange: Vec<_> = came.keys().filter(|word| !words.contains(word)).collect();
    ensure!(strange.is_empty(), "told were {strange:?}");
    // A mail server hands on in no order: what is dropped may come last.
    let all = expected.values().sum::<u64>();
    let counted = eventually("all that is dropped is counted", || {
        Ok(Some(dropped(hub, channel)?).filter(|counted| counted.values().sum::<u64>() >= all))
    })?;
    ensure!(counted == expected, "dropped are {counted:#?}, expected were {expected:#?}");
    // For who watches, by the reason alone.
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    counted.iter().for_each(|((why, _), count)| *reasons.entry(why).or_default() += count);
    for (why, count) in reasons {
        let sample = format!(
            "gatepost_received_dropped_total{{channel=\"{channel}\",account=\"home\",reason=\"{why}\"}}"
        );
        let figure = hub.operator()?.figure(&sample)?;
        ensure!(figure == Some(count as f64), "{sample} is {figure:?}, and listed are {count}");
    }
    println!(
        "{channel}: {} hostile things, {} of them dropped: {counted:?}",
        cases.len(),
        counted.values().sum::<u64>()
    );
    Ok(())
}
