//! Other people's clients at the doubles that the hub is tested with: a double whose events they cannot read is none.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::{hub::eventually, peers::Reader};
use serde_json::Value;

use super::houses::{self, House, Told};

const LOOK: Duration = Duration::from_millis(50);

#[test]
fn other_peoples_clients_read_the_same_words_of_the_same_person() -> Result<()> {
    houses::each(|house| {
        house.client().map_or(Ok(()), |(program, arguments)| reads(house, program, &arguments))
    })
}

fn reads(house: &dyn House, program: &str, arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let client = Reader::start(program, &arguments)?;
    eventually("the client is there", || Ok(house.listens(&Value::Null).then_some(())))?;
    let id = house.id();
    let (_, ann) = id.split_once(':').context("an id")?;
    let words = [Told::Line(0, "one <two> & *three*"), Told::Edit(0, "four"), Told::Line(1, "five 👋")];
    for told in words {
        house.tell(Told::Strange(0))?;
        house.tell(told)?;
        let said = loop {
            let said = client.says()?;
            if said["kind"] != "strange" {
                break said;
            }
        };
        let (kind, text) = match told {
            Told::Line(_, text) => ("line", text),
            Told::Edit(_, text) => ("edit", text),
            Told::Strange(_) => unreachable!(),
        };
        ensure!(said["kind"] == kind && said["text"] == text, "{told:?}: {said}");
        ensure!(said["from"] == ann && said["direct"] == true, "{told:?}: {said}");
        // What was told is told once.
        thread::sleep(LOOK);
    }
    client.end()
}
