//! The person is told that something waits, where the configuration says; rarely, and never twice of the same.

use std::{thread, time::Duration};

use anyhow::{Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{TestHub, client::text, database, eventually},
    main_job::CONFIG,
};
use serde_json::json;

/// Longer than what a hub gathers before it tells.
const GATHERED: Duration = Duration::from_secs(3);

fn telling(show: &str) -> String {
    format!(
        "{CONFIG}\n[person]\nnotify = [\"local:me\"]\nshow = \"{show}\"\npage = \"https://hub.example.org/\"\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_told_how_many_wait_and_where_and_what_comes_soon_after_is_not_told_by_itself()
-> Result<()> {
    let mut fixture = TestHub::start(&telling("count")).await?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "The code of the door is 4711."}))?;
    let told =
        eventually(
            "the person is told",
            || Ok(Some(fixture.arrived("me")?).filter(|told| !told.is_empty())),
        )?;
    let request = database::approval(&fixture.database()?, text(&held, "id"))?.request;
    ensure!(
        told == [format!("A message waits for your yes or no.\nhttps://hub.example.org/#/waiting/{request}")],
        "{told:?}"
    );
    agent.send(&json!({"to": "local:team", "message": "Another."}))?;
    agent.send(&json!({"to": "local:street", "message": "A third."}))?;
    thread::sleep(GATHERED);
    ensure!(fixture.arrived("me")?.len() == 1, "{:?}", fixture.arrived("me")?);
    // It knows after a restart what it has told.
    fixture.restart().await?;
    thread::sleep(GATHERED);
    ensure!(fixture.arrived("me")?.len() == 1, "{:?}", fixture.arrived("me")?);
    fixture.decide(Verdict::Deny).await?;
    fixture.audit_is_whole().await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_words_are_told_only_if_that_is_wanted_and_as_plain_text() -> Result<()> {
    let mut fixture = TestHub::start(&telling("text")).await?;
    let agent = fixture.agent("engineer").await?;
    agent.send(&json!({"to": "local:team", "message": "**Dinner** at [eight](https://evil.example)?\n\nOr \u{202e}nine"}))?;
    let told = eventually("the person is told", || Ok(fixture.arrived("me")?.pop()))?;
    ensure!(
        told.contains("engineer → local:team: **Dinner** at [eight](https://evil.example)? Or nine\n"),
        "{told:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_by_a_target_that_is_none_is_told_so_at_the_start() -> Result<()> {
    let config = telling("count").replace("local:me", "telegram:1");
    let refused = TestHub::start(&config).await.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(refused.contains("person.notify"), "{refused}");
    Ok(())
}
