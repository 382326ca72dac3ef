//! A whole session as a document: two agents, a bridge, a person with a companion. Everything that is said goes into
//! `golden/session.md`, with ids and times replaced by names, so that it can be read, and seen to change.
//!
//! Installed by `tests/run --setup-only`: espeak-ng, opus-tools; without them agents are told of no words to be spoken.

mod story;

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::hub::{TestHub, eventually};
use serde_json::json;

use story::Story;

const CONFIG: &str = r#"
[agents.engineer]
allow = ["local:team", "local:ann"]

[agents.gardener]
allow = ["local:ann"]

[approval]
allow_software_companion = true

[channels.local.home]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_two_agents_reads_as_it_did() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (engineer, gardener) = (fixture.agent("engineer").await?, fixture.agent("gardener").await?);
    let bridge = fixture.bridge("porch").await?;
    // The story begins when the companion is there, or it tells of one that is still connecting.
    let operator = fixture.operator()?;
    eventually("the companion is there", || {
        let listed = operator.get("/v1/companions")?.taken()?;
        Ok((listed["companions"][0]["able"] == true).then_some(()))
    })?;
    let mut story = Story::begin(
        "A session",
        "Two agents live in a house: *engineer* may write to `local:team` and `local:ann`, *gardener* to `local:ann` \
         alone. What leaves the conversation that it belongs to waits for a person, who has a companion with two buttons.",
    );
    story.shows("The configuration", "toml", CONFIG);

    story.chapter("Allowed: an answer where it was asked", "Ann writes to the engineer. The bridge that heard it tells the hub, and gets the context of the engineer's turn.");
    let report = json!({"agent": "engineer", "channel": "local", "peer": "ann", "sender": "ann", "text": "Is the build green?"});
    let context = story.calls("The bridge", &bridge, "/v1/inbound", &report)?["context"].clone();
    story.tells("An answer to Ann stays in its conversation: nobody is asked.");
    let answer = json!({"to": "current", "message": "It is **green**.", "context": context});
    let sent = story.calls("The engineer", &engineer, "/v1/tools/message", &answer)?;
    ensure!(sent["state"] == "sent", "{sent}");
    story.arrived(&fixture, "ann")?;

    story.chapter(
        "Dry run: what would be sent",
        "Before it writes to the team, the engineer looks at what would become of it. Nothing is sent.",
    );
    let words = "Release **1.4** is out:\n\n- the gate is faster\n- [notes](https://hub.test/1.4)";
    let dry = json!({"to": "local:team", "message": words, "context": context, "dryRun": true});
    let dry = story.calls("The engineer", &engineer, "/v1/tools/message", &dry)?;
    ensure!(dry["verdict"] == "hold", "{dry}");

    story.chapter("Held, and approved", "The team is another conversation than Ann's: the message is held.");
    let call = json!({"to": "local:team", "message": words, "context": context, "wait": 0});
    let held = story.calls("The engineer", &engineer, "/v1/tools/message", &call)?;
    ensure!(held["state"] == "held", "{held}");
    story.decides(&fixture, Verdict::Approve).await?;
    let asked = json!({"id": held["id"], "wait": 20});
    let receipt = story.calls("The engineer", &engineer, "/v1/tools/receipt", &asked)?;
    ensure!(receipt["state"] == "sent", "{receipt}");
    story.arrived(&fixture, "team")?;

    story.chapter("Said twice", "The engineer has lost track and sends it again. It is answered with the first one's receipt, and nothing arrives.");
    let again = story.calls("The engineer", &engineer, "/v1/tools/message", &call)?;
    ensure!(again["deduplicated"] == true && again["id"] == held["id"], "{again}");
    ensure!(fixture.arrived("team")?.len() == 1, "it arrived twice");

    story.chapter(
        "Held, and denied",
        "The gardener has a timer and no conversation: everything that it sends is asked about.",
    );
    let call = json!({"platform": "local", "target": "ann", "body": "The door code is 4711."});
    let meanwhile = async |story: &mut Story| story.decides(&fixture, Verdict::Deny).await;
    let denied =
        story.calls_meanwhile("The gardener", &gardener, "/v1/tools/send_message", &call, meanwhile).await?;
    ensure!(denied["state"] == "denied", "{denied}");
    story.tells("Nothing of it has arrived. The end stands in the gardener's inbox too, for a turn that did not wait for it.");
    let told = story.calls("The gardener", &gardener, "/v1/tools/inbox", &json!({}))?;
    ensure!(told["notices"][0]["receipt"]["state"] == "denied", "{told}");
    ensure!(fixture.arrived("ann")?.len() == 1, "something of a denied message arrived");

    story.chapter(
        "Not allowed",
        "The gardener may not write to the team at all. Nothing is queued, and nobody is asked.",
    );
    let call = json!({"to": "local:team", "message": "The roses need water."});
    let refused = story.calls("The gardener", &gardener, "/v1/tools/message", &call)?;
    ensure!(refused["reason"] == "not_allowed", "{refused}");

    story.chapter("Broadcast", "The engineer writes to three places at once. Each is a message of its own: one stays in its conversation, one is asked about, one is not allowed.");
    let call = json!({
        "action": "broadcast", "targets": ["local:ann", "local:team", "local:boss"], "message": "Tea?",
        "context": context, "wait": 0,
    });
    let told = story.calls("The engineer", &engineer, "/v1/tools/message", &call)?;
    ensure!(told["failed"] == 1 && told["targets"][1]["state"] == "held", "{told}");
    story.decides(&fixture, Verdict::Approve).await?;
    let asked = json!({"id": told["targets"][1]["id"], "wait": 20});
    let receipt = story.calls("The engineer", &engineer, "/v1/tools/receipt", &asked)?;
    ensure!(receipt["state"] == "sent", "{receipt}");
    story.arrived(&fixture, "team")?;

    fixture.audit_is_whole().await?;
    fixture.stop().await;
    story.is_as_before("session.md")
}
