//! The same main job with mosquitto in place of the embedded broker.

use anyhow::Result;
use gatepost_tests::{
    hub::TestHub,
    main_job::{self, CONFIG},
    peers::Mosquitto,
};

#[tokio::test(flavor = "multi_thread")]
async fn mosquitto_carries_the_main_job_as_the_embedded_broker_does() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut house = TestHub::start_at(&broker, CONFIG).await?;
    main_job::goes_well(&mut house).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_was_restarted_meets_its_companion_at_mosquitto_again() -> Result<()> {
    let broker = Mosquitto::start()?;
    let mut house = TestHub::start_at(&broker, CONFIG).await?;
    main_job::goes_well(&mut house).await?;
    house.restart().await?;
    let agent = house.agent("engineer").await?;
    let held = agent.send(&serde_json::json!({"to": "local:late", "message": "Good night."}))?;
    let seen = house.decide(gatepost_link::decision::Verdict::Approve).await?;
    let id = held["id"].as_str().unwrap_or("");
    main_job::arrived_as_shown(&house, &agent.ended(id, "sent")?, &seen, "late")?;
    Ok(())
}
