//! What a guide says of an account, against what that account does.

use super::{all, claims::nowhere};
use crate::{
    channels::{formats::format, guide::written},
    message::{action::Action, parameters::PARAMETERS},
};

#[test]
fn a_guide_names_all_that_an_account_does_and_nothing_else() {
    for contract in all() {
        let adapter = nowhere(contract);
        let (can, what) = (adapter.capabilities(), contract.name());
        let guide = written(format(can.channel).unwrap(), Some(can), true);
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
