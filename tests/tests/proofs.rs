//! What `gatepost audit verify` says of decisions and approval documents, over what a hub and its companion left.

use std::{ffi::OsStr, path::Path};

use anyhow::{Result, ensure};
use gatepost::random::to_hex;
use gatepost_link::decision::Verdict;
use gatepost_tests::{
    hub::{
        TestHub,
        client::text,
        program::{Ended, gatepost},
    },
    main_job::CONFIG,
};
use rusqlite::Connection;
use serde_json::json;

fn verify(database: &Path, key: &str, rest: &[&str]) -> Result<Ended> {
    let mut arguments: Vec<&OsStr> = vec!["audit".as_ref(), "verify".as_ref(), "--database".as_ref()];
    arguments.push(database.as_os_str());
    arguments.extend(["--key", key].into_iter().chain(rest.iter().copied()).map(AsRef::<OsStr>::as_ref));
    gatepost(&arguments, b"", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_and_documents_are_verified_and_whatever_was_touched_is_named() -> Result<()> {
    let mut house = TestHub::start(CONFIG).await?;
    let agent = house.agent("engineer").await?;
    let mut ids = vec![];
    for (message, verdict, end) in
        [("The first.", Verdict::Approve, "sent"), ("The second.", Verdict::Deny, "denied")]
    {
        let held = agent.send(&json!({"to": "local:team", "message": message}))?;
        house.decide(verdict).await?;
        agent.ended(text(&held, "id"), end)?;
        ids.push(text(&held, "id").to_owned());
    }
    let (key, device) = (to_hex(&house.hub()?.key().0), to_hex(&house.device().0));
    let database = house.data_dir().join("gatepost.db");
    house.stop().await;

    let whole = verify(&database, &key, &["--json"])?.json()?;
    ensure!(whole["ok"] == true && whole["faults"] == json!([]), "{whole}");
    ensure!(whole["decisions"] == 2 && whole["documents"] == 2 && whole["documents_gone"] == 0, "{whole}");
    let said = verify(&database, &key, &[])?;
    ensure!(said.stdout.contains("2 decisions are their devices' own"), "{said:?}");

    let (sent, denied) = (&ids[0], &ids[1]);
    let copy = house.folder().path().join("copy.db");
    for (sql, named) in [
        (
            "UPDATE approvals SET verdict = 'approve'".to_owned(),
            format!("the verdict stored with the decision on message {denied} is not the one in row"),
        ),
        (
            "UPDATE audit SET detail = replace(detail, '\"event\":\"deny\"', '\"event\":\"approve\"')"
                .to_owned(),
            format!("device {device} did not sign this decision on message {denied}"),
        ),
        (
            "UPDATE parts SET shown = 'Something else.' WHERE message = 1".to_owned(),
            format!("message {sent}: the text of part 1 is not what its approval document shows"),
        ),
        (
            "UPDATE devices SET counter = 1".to_owned(),
            format!("the registered counter of device {device} was set back"),
        ),
        (
            "DELETE FROM parts WHERE message = 1; DELETE FROM approvals WHERE message = 1;
             DELETE FROM messages WHERE seq = 1"
                .to_owned(),
            "a message is gone, and no purge took it".to_owned(),
        ),
    ] {
        std::fs::copy(&database, &copy)?;
        Connection::open(&copy)?.execute_batch(&sql)?;
        let verified = verify(&copy, &key, &[])?;
        ensure!(verified.status == 1 && verified.stdout.contains(&named), "{named}: {verified:?}");
        let verified = verify(&copy, &key, &["--json"])?;
        ensure!(verified.status == 1 && verified.stdout.contains("\"ok\":false"), "{verified:?}");
    }
    Ok(())
}
