//! What an idle companion shows of its hub.

use anyhow::{Result, ensure};
use gatepost_companion::{Screen, View};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{TestHub, client::text},
    main_job::CONFIG,
};
use serde_json::json;

fn idles_with(screen: &Screen, line: &str) -> bool {
    screen.view == View::Idle && screen.cells().iter().any(|cells| cells.trim() == line)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_companion_shows_that_the_hub_is_well_and_where_it_delivered_last() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    fixture.screen("the hub is well", |screen| idles_with(screen, "all is well"))?;
    fixture.screen("nothing was delivered yet", |screen| idles_with(screen, "last none yet"))?;
    let agent = fixture.agent("engineer").await?;
    let held = agent.send(&json!({"to": "local:team", "message": "The key is under the third stone."}))?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&held, "id"), "sent")?;
    let idle = fixture.screen("the delivery", |screen| idles_with(screen, "local just now"))?;
    let cells = idle.cells().concat();
    for word in ["team", "engineer", "key", "stone"] {
        ensure!(!cells.contains(word), "{word} hangs on the wall: {cells}");
    }
    // Told anew in a session that begins.
    fixture.restart().await?;
    fixture.screen("the hub is well again", |screen| idles_with(screen, "all is well"))?;
    Ok(())
}
