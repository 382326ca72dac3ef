//! What becomes of a part, however its platform answers.

use std::time::Duration;

use super::{
    Case, Contract, Ends, NEEDLE, Scene, all,
    stage::{Script, Stage},
};
use crate::channels::testing::sample::AsJson as _;
use crate::{
    channels::{
        Adapter, Failure, OutgoingPart, PartKey, registry,
        testing::{
            http::Reply,
            sample::{key, op, outgoing, part},
        },
    },
    message::operation::Operation,
    render,
};

/// The longest that an adapter may take for a text, whatever its platform does: less than the queue gives it.
const LONGEST: Duration = Duration::from_secs(450);

/// How a delivery ended is how it was to end, and nothing secret is in it.
pub(super) fn assert_ends(what: &str, ended: &Result<String, Failure>, ends: Ends) {
    let is = match (ended, ends) {
        (Ok(id), Ends::Sent(expected)) => id == expected || expected.is_empty(),
        (Err(Failure::Wait { after, .. }), Ends::Waits) => after.as_secs() == 7,
        (Err(Failure::Retry(_)), Ends::Retried) | (Err(Failure::Unknown(_)), Ends::Unknown) => true,
        (Err(Failure::Permanent(why)), Ends::Refused(words)) => why.contains(words),
        _ => false,
    };
    assert!(is, "{what}: it was to end as {ends:?}, and ended as {ended:?}");
    if let Err(failure) = ended {
        let said = format!("{failure} {failure:?}");
        assert!(!said.contains(NEEDLE), "{what}: {said}");
        assert!(said.chars().count() < 2_000 && !failure.to_string().contains('\n'), "{what}: {said}");
    }
}

/// The scripts of all contracts that have this case.
pub(super) fn scenes(case: Case) -> impl Iterator<Item = (&'static Contract, Script, Ends)> {
    all().filter_map(move |contract| match (contract.scene)(case) {
        Scene::Plays(script, ends) => Some((contract, script, ends)),
        Scene::Never(_) => None,
    })
}

async fn send(adapter: &dyn Adapter, contract: &Contract, text: &str) -> Result<String, Failure> {
    let part = part(text);
    adapter.delivered(&adapter.composed(&outgoing(contract.address, &part)), &key()).await
}

async fn all_end_as_they_should(case: Case) {
    for (contract, script, ends) in scenes(case) {
        let stage = Stage::set(script);
        let ended = send(stage.open(contract).as_ref(), contract, "Hello").await;
        assert_ends(&format!("{}, {case:?}", contract.name()), &ended, ends);
    }
}

#[tokio::test]
async fn a_removal_whose_answer_was_lost_is_done_where_nothing_is_left_to_remove() {
    let mut tried = 0;
    for (contract, script, ends) in scenes(Case::Removed) {
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let operation = Operation::Delete { message: contract.message.into() };
        let request = adapter.composed_operation(&op(contract.address, &operation, None)).unwrap();
        let what = format!("{}, a removal", contract.name());
        assert_ends(&what, &adapter.delivered(&request, &key()).await, Ends::Unknown);
        assert_ends(&what, &adapter.delivered(&request, &key()).await, ends);
        // What nobody has tried to remove is no more gone than it was ever there.
        let other = adapter.delivered(&request, &PartKey("f".repeat(32))).await;
        assert!(matches!(other, Err(Failure::Permanent(_))), "{what}: {other:?}");
        tried += 1;
    }
    assert!(tried > 3, "{tried} platforms");
}

#[tokio::test]
async fn a_text_arrives_and_its_id_comes_back() {
    all_end_as_they_should(Case::Text).await;
}

#[tokio::test]
async fn a_long_text_arrives_in_parts_none_of_which_is_over_the_limit() {
    let text = "All *work* and no play makes a dull hub. ".repeat(1_700);
    let document = render::parse(&text);
    for contract in all() {
        let name = contract.name();
        let flavour = Stage::set(Script::Nobody).open(contract).flavour();
        let parts = render::render(&document, &flavour).unwrap();
        let most = flavour.limit.unwrap_or(usize::MAX);
        assert_eq!(parts.len() > 1, flavour.limit.is_some(), "{name}");
        let Scene::Plays(script, ends) = (contract.scene)(Case::Parts(parts.len())) else {
            panic!("{name}: say in `scene` of {} how {} parts go", contract.file("contract.rs"), parts.len())
        };
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let of = parts.len();
        for (index, part) in parts.iter().enumerate() {
            assert!(part.units <= most, "{name}: a part has {} units", part.units);
            let request = adapter.composed(&OutgoingPart { index, of, ..outgoing(contract.address, part) });
            let key = if index == 0 { key() } else { PartKey(format!("{index:032x}")) };
            let ended = adapter.delivered(&request, &key).await;
            assert_ends(&format!("{name}, part {index} of {of}"), &ended, ends);
        }
    }
}

#[tokio::test]
async fn a_limit_with_a_time_is_kept_and_one_without_is_tried_again() {
    all_end_as_they_should(Case::Limited).await;
    all_end_as_they_should(Case::LimitedVaguely).await;
}

#[tokio::test]
async fn who_did_nothing_is_asked_again_and_of_who_may_have_done_something_nobody_knows() {
    all_end_as_they_should(Case::Unavailable).await;
    all_end_as_they_should(Case::Trouble).await;
    all_end_as_they_should(Case::Gateway).await;
}

#[tokio::test]
async fn what_never_left_is_tried_again() {
    all_end_as_they_should(Case::Away).await;
}

#[tokio::test]
async fn a_lost_answer_and_one_that_means_nothing_are_told_apart_from_a_no() {
    all_end_as_they_should(Case::Closed).await;
    all_end_as_they_should(Case::Malformed).await;
    all_end_as_they_should(Case::Nameless).await;
    all_end_as_they_should(Case::Endless).await;
}

/// Nobody can say how much of the request was read.
#[tokio::test]
async fn a_connection_that_is_reset_leaves_as_much_open_as_one_that_is_closed() {
    let mut tried = 0;
    for (contract, script, ends) in scenes(Case::Closed) {
        let Script::Http(replies) = script else { continue };
        for reset in [Reply::ResetEarly, Reply::ResetLate] {
            let replies =
                replies.iter().map(|reply| if matches!(reply, Reply::Close) { reset } else { *reply });
            let stage = Stage::set(Script::Http(replies.collect()));
            let ended = send(stage.open(contract).as_ref(), contract, "Hello").await;
            assert_ends(&format!("{}, {reset:?}", contract.name()), &ended, ends);
        }
        tried += 1;
    }
    assert!(tried >= 10, "{tried} platforms");
}

/// The clock stands still until the platform has been asked, and from then on only waiting moves it.
#[tokio::test]
async fn a_platform_that_says_nothing_is_given_up_in_time() {
    for (contract, script, ends) in scenes(Case::Silent) {
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let sending = async {
            let ended = send(adapter.as_ref(), contract, "Hello").await;
            (ended, tokio::time::Instant::now())
        };
        let asked = async {
            stage.has_heard_all().await;
            tokio::time::pause();
            tokio::time::Instant::now()
        };
        let ((ended, given_up), asked) = tokio::join!(sending, asked);
        tokio::time::resume();
        assert_ends(&contract.name(), &ended, ends);
        let waited = given_up - asked;
        assert!(waited > Duration::from_secs(5) && waited < LONGEST, "{}: {waited:?}", contract.name());
    }
}

#[tokio::test]
async fn a_file_goes_along_and_nothing_goes_without_it() {
    for (contract, script, ends) in scenes(Case::File) {
        let what = contract.name();
        let stage = Stage::set(script);
        let adapter = stage.open(contract);
        let (name, kind) = contract.file;
        let format = registry::format(contract.channel);
        let captions = format.is_none_or(|format| format.caption_limit != Some(0));
        let caption = part(if captions { "See" } else { "" });
        let file = [stage.stage(name, kind, b"the bytes of a file")];
        let request =
            adapter.composed(&OutgoingPart { files: &file, ..outgoing(contract.address, &caption) });
        let stored = request.to_string();
        assert!(
            stored.contains(&file[0].reference()) || stored.contains(&file[0].sha256.to_string()),
            "{what}: {stored}"
        );
        assert!(!stored.contains("the bytes"), "{what}: {stored}");
        assert_ends(&what, &adapter.delivered(&request, &key()).await, ends);
        let heard = || stage.heard().iter().filter(|line| *line != "QUIT").count();
        let before = heard();
        std::fs::remove_dir_all(stage.files()).unwrap();
        let other = PartKey("1".repeat(32));
        let ended = adapter.delivered(&request, &other).await;
        assert_ends(&format!("{what}, its file is gone"), &ended, Ends::Refused("any more"));
        assert_eq!(heard(), before, "{what}");
    }
}
