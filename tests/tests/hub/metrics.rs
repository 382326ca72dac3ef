//! The hub's figures, as Prometheus reads them.
//!
//! Installed by `tests/run --setup-only`: promtool.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{Client, SpawnedHub, TestHub, client::text, eventually},
    main_job::CONFIG,
};
use serde_json::json;

/// Prometheus's own judge of the format and of its conventions.
fn promtool(figures: &str) -> Result<()> {
    let mut judge = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("promtool is missing: run `tests/run --setup-only`")?;
    judge.stdin.take().context("a pipe")?.write_all(figures.as_bytes())?;
    let judged = judge.wait_with_output()?;
    let said = String::from_utf8_lossy(&judged.stderr) + String::from_utf8_lossy(&judged.stdout);
    ensure!(judged.status.success() && said.trim().is_empty(), "{}: {said}\n{figures}", judged.status);
    Ok(())
}

fn figures(of: &Client) -> Result<BTreeMap<String, f64>> {
    let answer = of.get("/metrics")?;
    ensure!(answer.status == 200 && answer.kind.starts_with("text/plain; version=0.0.4"), "{answer:?}");
    let figures = answer.body.as_str().context("a text")?.to_owned();
    promtool(&figures)?;
    let samples = figures.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').context("a sample")?;
            Ok((name.to_owned(), value.parse()?))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_agrees_with_what_happened_and_promtool_has_nothing_to_say() -> Result<()> {
    let mut fixture = TestHub::start(CONFIG).await?;
    let (agent, operator) = (fixture.agent("engineer").await?, fixture.operator()?);
    let send = |message: &str| agent.send(&json!({"to": "local:team", "message": message}));
    let denied = send("One.")?;
    fixture.decide(Verdict::Deny).await?;
    agent.ended(text(&denied, "id"), "denied")?;
    let sent = send("Two.")?;
    fixture.decide(Verdict::Approve).await?;
    agent.ended(text(&sent, "id"), "sent")?;
    let failed = send("[x]: https://hub.test")?;
    agent.ended(text(&failed, "id"), "failed")?;
    send("Waits.")?;

    let now = figures(&operator)?;
    let came =
        |state: &str| now.get(&format!("gatepost_messages_total{{channel=\"local\",state=\"{state}\"}}"));
    let counted = ["accepted", "held", "sent", "denied", "failed", "unknown"].map(came);
    ensure!(counted == [Some(&4.0), Some(&3.0), Some(&1.0), Some(&1.0), Some(&1.0), None], "{now:#?}");
    let is = |name: &str, value: f64| match now.get(name) {
        Some(&figure) if figure == value => Ok(()),
        figure => anyhow::bail!("{name} is {figure:?}: {now:#?}"),
    };
    is("gatepost_queue_messages{channel=\"local\",state=\"held\"}", 1.0)?;
    is("gatepost_queue_text_bytes", 6.0)?;
    is("gatepost_queue_oldest_age_seconds{state=\"ready\"}", 0.0)?;
    is("gatepost_disk_state{state=\"plenty\"}", 1.0)?;
    is("gatepost_disk_state{state=\"spent\"}", 0.0)?;
    is("gatepost_cards_total{agent=\"engineer\"}", 3.0)?;
    is("gatepost_cards_deferred_total{agent=\"engineer\"}", 0.0)?;
    is("gatepost_cards_waiting", 0.0)?;
    is("gatepost_companions_registered", 1.0)?;
    is("gatepost_companions_online", 1.0)?;
    is("gatepost_companions_able", 1.0)?;
    is(&format!("gatepost_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0)?;
    for name in ["process_resident_memory_bytes", "gatepost_database_bytes", "gatepost_audit_rows_total"] {
        ensure!(now.get(name).is_some_and(|figure| *figure > 10.0), "{name}: {now:#?}");
    }
    eventually("it grows older", || {
        let age = figures(&operator)?.get("gatepost_queue_oldest_age_seconds{state=\"held\"}").copied();
        Ok(age.filter(|age| (1.0..600.0).contains(age)))
    })?;

    // What was counted stays counted, also when the messages themselves are gone.
    fixture.restart().await?;
    operator_purges(&fixture.operator()?)?;
    let after = figures(&fixture.operator()?)?;
    let sent = "gatepost_messages_total{channel=\"local\",state=\"sent\"}";
    ensure!(after.get(sent) == Some(&1.0), "{after:#?}");
    Ok(())
}

fn operator_purges(operator: &Client) -> Result<()> {
    let purged = operator.post("/v1/purge?state=sent", &json!({}))?.taken()?;
    ensure!(purged["purged"] == 1, "{purged}");
    Ok(())
}

#[test]
fn a_monitor_reads_figures_and_nothing_else_and_an_agent_reads_none() -> Result<()> {
    let hub = SpawnedHub::start("[agents.courier]\nallow = [\"local:*\"]\n[channels.local.home]\n")?;
    let token = hub.cli(&["agent", "add", "prometheus", "--role", "monitor"])?.well()?;
    let monitor = hub.anybody(Some(token.trim()));
    figures(&monitor)?;
    for path in ["/v1/messages", "/v1/events", "/v1/inbox", "/v1/agents", "/v1/local"] {
        ensure!(monitor.get(path)?.status == 403, "{path}");
    }
    ensure!(hub.agent("courier")?.get("/metrics")?.status == 403);
    ensure!(hub.anybody(None).get("/metrics")?.status == 401);
    Ok(())
}
