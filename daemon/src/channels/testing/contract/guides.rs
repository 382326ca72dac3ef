//! What a guide says of an account, against what that account does.

use super::{all, claims::nowhere};
use crate::{
    channels::{
        guide::{HubFiles, written},
        registry::format,
    },
    files::Bounds,
    message::{action::Action, parameters::PARAMETERS},
};

/// The number of bytes that a guide says files have at most.
fn promised(guide: &str) -> Option<u64> {
    let (before, _) = guide.split_once(" each at most")?;
    let mut words = before.rsplit(' ');
    let (unit, number) = (words.next()?, words.next()?);
    let unit = match unit {
        "MiB" => 1024 * 1024,
        "MB" => 1_000_000,
        "bytes" => 1,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * unit)
}

#[test]
fn a_guide_promises_no_larger_file_than_the_channel_and_the_hub_take() {
    let usual = Bounds::default().max_size;
    for contract in all() {
        let adapter = nowhere(contract);
        let (can, what) = (adapter.capabilities(), contract.name());
        for max_size in [usual, 1, 3_500_001, 12 * 1024 * 1024, 1 << 40] {
            let hub = HubFiles { speaks: false, max_size };
            let guide = written(format(can.channel).unwrap(), Some(can), hub);
            let Some(rules) = can.files else {
                assert_eq!(promised(&guide), None, "{what}: {guide}");
                continue;
            };
            let taken = rules.max_size.min(rules.max_together).min(max_size);
            let unboosted =
                (can.channel == "discord").then_some(10 * 1024 * 1024).filter(|most| taken > *most);
            assert_eq!(guide.contains("more on a boosted server"), unboosted.is_some(), "{what}: {guide}");
            let taken = unboosted.unwrap_or(taken);
            let promised = promised(&guide).unwrap_or_else(|| panic!("{what} names no size: {guide}"));
            assert!(promised <= taken && taken - promised < 1_000_000, "{what}, {taken} bytes: {guide}");
        }
    }
}

#[test]
fn a_guide_names_all_that_an_account_does_and_nothing_else() {
    for contract in all() {
        let adapter = nowhere(contract);
        let (can, what) = (adapter.capabilities(), contract.name());
        let hub = HubFiles { speaks: true, max_size: Bounds::default().max_size };
        let guide = written(format(can.channel).unwrap(), Some(can), hub);
        for (word, is_there) in [
            ("`threadId`", can.threads),
            ("`replyToId`", can.replies),
            ("`voice`", can.files.is_some()),
            ("`buttons`", can.buttons.is_some()),
            ("`selects`", can.selects.is_some()),
            ("\"poll\"", can.polls.is_some()),
            ("`card`", can.cards.is_some()),
            ("\"react\"", can.does(Action::React)),
            ("`effect`", !can.effects.is_empty()),
            ("`silent`", can.silent),
        ] {
            assert_eq!(guide.contains(word), is_there, "{word} in the guide of {what}:\n{guide}");
        }
        assert!(guide.lines().all(|line| line.starts_with("- ") && line.len() < 600), "{guide}");
        let in_backticks = guide.split('`').skip(1).step_by(2);
        for name in in_backticks.filter(|name| name.ends_with("Id") || name.starts_with("poll")) {
            let mut known = PARAMETERS.iter().flat_map(|parameter| parameter.names);
            assert!(known.any(|known| *known == name), "{name} is no parameter: {guide}");
        }
    }
}
