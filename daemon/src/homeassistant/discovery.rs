//! What Home Assistant is told that there is: one device for the hub, and one for each companion, which the hub brings along.
//!
//! In the form of device discovery (home-assistant.io/integrations/mqtt, "Device discovery payload"), with the abbreviations that are said
//! there. An entity's unique id never changes: its history hangs on it.

use serde_json::{Map, Value, json};

use super::{Plan, topics::Topics};

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the event of a message can be.
pub(super) const EVENTS: [&str; 7] = ["held", "approved", "denied", "expired", "sent", "failed", "unknown"];
/// What is published to ask for an update.
pub(super) const INSTALL: &str = "install";

/// What a companion is.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    /// Its short name.
    pub(super) id: &'a str,
    /// What people call it.
    pub(super) name: &'a str,
    /// Its board, if it has said so.
    pub(super) board: Option<&'a str>,
    /// Its firmware's version, if it has said so.
    pub(super) version: Option<&'a str>,
}

/// The hub.
pub(super) fn hub(topics: &Topics, plan: &Plan) -> Value {
    let (id, state) = (&topics.hub, topics.of_hub("state"));
    let mut entities = Entities::of(id);
    entities.add("waiting", "sensor", "Waiting for approval", json!({
        "stat_t": state, "val_tpl": "{{ value_json.waiting }}", "stat_cla": "measurement", "unit_of_meas": "messages",
        "ic": "mdi:hand-back-right",
    }));
    entities.add("queued", "sensor", "Queued", json!({
        "stat_t": state, "val_tpl": "{{ value_json.queued }}", "stat_cla": "measurement", "unit_of_meas": "messages",
        "ent_cat": "diagnostic",
    }));
    entities.add("sent", "sensor", "Sent", json!({
        "stat_t": state, "val_tpl": "{{ value_json.sent }}", "stat_cla": "total_increasing", "unit_of_meas": "messages",
        "ent_cat": "diagnostic",
    }));
    entities.add(
        "deadline",
        "sensor",
        "Next deadline",
        json!({
            "stat_t": state, "val_tpl": "{{ value_json.deadline }}", "dev_cla": "timestamp",
        }),
    );
    entities.add("asks", "binary_sensor", "Asks you", json!({
        "stat_t": state, "val_tpl": "{{ 'ON' if value_json.asked > 0 else 'OFF' }}", "ic": "mdi:account-question",
    }));
    entities.add("channels", "binary_sensor", "Channels", json!({
        "stat_t": state, "val_tpl": "{{ 'ON' if value_json.not_ready else 'OFF' }}", "dev_cla": "problem", "ent_cat": "diagnostic",
        "json_attr_t": state, "json_attr_tpl": "{{ {'not_ready': value_json.not_ready} | tojson }}",
    }));
    entities.add(
        "message",
        "event",
        "Message",
        json!({
            "stat_t": topics.of_hub("event"), "evt_typ": EVENTS, "ic": "mdi:message-badge",
        }),
    );
    entities.add(
        "update",
        "update",
        "Update",
        update(&topics.of_hub("update"), "Gatepost hub", plan.install),
    );
    match plan.notify_to.is_empty() {
        true => entities.leave_out("notify", "notify"),
        false => entities.add(
            "notify",
            "notify",
            "Send through the gate",
            json!({"cmd_t": topics.of_hub("notify")}),
        ),
    }
    let device = json!({
        "ids": [format!("gatepost_{id}")], "name": "Gatepost", "mf": "Gatepost", "mdl": "Hub", "sw": VERSION, "cu": plan.page,
    });
    entities.into_config(topics, device)
}

/// A companion.
pub(super) fn companion(topics: &Topics, plan: &Plan, about: About<'_>) -> Value {
    let (id, of) = (about.id, |what: &str| topics.of_companion(about.id, what));
    let state = of("state");
    let mut entities = Entities::of(id);
    entities.add("connected", "binary_sensor", "Connected", json!({
        "stat_t": state, "val_tpl": "{{ 'ON' if value_json.here else 'OFF' }}", "dev_cla": "connectivity", "ent_cat": "diagnostic",
    }));
    entities.add(
        "decided",
        "sensor",
        "Last decision",
        json!({
            "stat_t": state, "val_tpl": "{{ value_json.decided_at }}", "dev_cla": "timestamp",
        }),
    );
    entities.add(
        "decision",
        "event",
        "Decision",
        json!({
            "stat_t": of("event"), "evt_typ": ["approved", "denied"], "dev_cla": "button",
        }),
    );
    let mut firmware = update(&of("update"), "Gatepost companion", plan.install);
    // It takes nothing while it is away.
    firmware["avty"] = json!([
        {"t": topics.online()},
        {"t": state, "val_tpl": "{{ 'online' if value_json.here else 'offline' }}"},
    ]);
    firmware["avty_mode"] = "all".into();
    entities.add("firmware", "update", "Firmware", firmware);
    let model = about.board.map_or_else(|| "Companion".into(), |board| format!("Companion {board}"));
    let mut device = json!({
        "ids": [format!("gatepost_{id}")], "name": format!("Gatepost {}", about.name), "mf": "Gatepost", "mdl": model,
        "via_device": format!("gatepost_{}", topics.hub),
    });
    if let Some(version) = about.version {
        device["sw"] = version.into();
    }
    entities.into_config(topics, device)
}

/// An update; with a button only where it may be asked for.
fn update(topic: &str, title: &str, install: bool) -> Value {
    let mut update = json!({"stat_t": topic, "tit": title, "dev_cla": "firmware", "ent_cat": "config"});
    if install {
        update["cmd_t"] = format!("{topic}/install").into();
        update["pl_inst"] = INSTALL.into();
    }
    update
}

/// The entities of a device.
struct Entities<'a> {
    device: &'a str,
    all: Map<String, Value>,
}

impl<'a> Entities<'a> {
    fn of(device: &'a str) -> Self {
        Self { device, all: Map::new() }
    }

    fn add(&mut self, key: &str, platform: &str, name: &str, mut entity: Value) {
        entity["p"] = platform.into();
        entity["name"] = name.into();
        entity["uniq_id"] = format!("gatepost_{}_{key}", self.device).into();
        self.all.insert(key.into(), entity);
    }

    /// One that there was with another configuration: nothing but its platform takes it away.
    fn leave_out(&mut self, key: &str, platform: &str) {
        self.all.insert(key.into(), json!({"p": platform}));
    }

    fn into_config(self, topics: &Topics, device: Value) -> Value {
        json!({
            "dev": device,
            "o": {"name": "gatepost", "sw": VERSION},
            "avty": [{"t": topics.online()}],
            "qos": 1,
            "cmps": self.all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(notify: bool, install: bool) -> Plan {
        let target = crate::message::target::Destination::parse("local:ann", &["local"]).unwrap();
        Plan {
            prefix: "homeassistant".into(),
            notify_to: notify.then_some(target).into_iter().collect(),
            install,
            page: "https://hub.home".into(),
        }
    }

    fn topics() -> Topics {
        Topics::new("ab12", "homeassistant")
    }

    const HALL: About<'_> = About { id: "cd34", name: "hall", board: Some("esp32c3"), version: None };

    /// Each entity's key and platform.
    fn entities(config: &Value) -> Vec<(String, String)> {
        let all = config["cmps"].as_object().unwrap().iter();
        all.map(|(key, entity)| (key.clone(), entity["p"].as_str().unwrap().to_owned())).collect()
    }

    #[test]
    fn the_hub_and_a_companion_have_these_entities_and_no_other() {
        let pairs = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            all.iter().map(|(key, platform)| ((*key).to_owned(), (*platform).to_owned())).collect()
        };
        let of_hub = [
            ("asks", "binary_sensor"),
            ("channels", "binary_sensor"),
            ("deadline", "sensor"),
            ("message", "event"),
            ("notify", "notify"),
            ("queued", "sensor"),
            ("sent", "sensor"),
            ("update", "update"),
            ("waiting", "sensor"),
        ];
        assert_eq!(entities(&hub(&topics(), &plan(true, true))), pairs(&of_hub));
        let of_companion = [
            ("connected", "binary_sensor"),
            ("decided", "sensor"),
            ("decision", "event"),
            ("firmware", "update"),
        ];
        let config = companion(&topics(), &plan(true, true), HALL);
        assert_eq!(entities(&config), pairs(&of_companion));
        assert_eq!(config["dev"]["via_device"], "gatepost_ab12");
        assert_eq!(
            (&config["dev"]["mdl"], &config["dev"]["sw"]),
            (&"Companion esp32c3".into(), &Value::Null)
        );
    }

    #[test]
    fn unique_ids_are_those_of_the_first_version() {
        let config = hub(&topics(), &plan(true, false));
        assert_eq!(config["cmps"]["waiting"]["uniq_id"], "gatepost_ab12_waiting");
        assert_eq!(
            companion(&topics(), &plan(false, false), HALL)["cmps"]["firmware"]["uniq_id"],
            "gatepost_cd34_firmware"
        );
    }

    #[test]
    fn there_is_a_command_only_where_the_configuration_lets_it_be() {
        let said = |notify, install| {
            let plan = plan(notify, install);
            format!("{}{}", hub(&topics(), &plan), companion(&topics(), &plan, HALL))
        };
        let commands = |notify, install| said(notify, install).matches("cmd_t").count();
        assert_eq!((commands(false, false), commands(true, false)), (0, 1));
        assert_eq!((commands(false, true), commands(true, true)), (2, 3));
        assert!(!said(true, true).contains("local:ann") && !said(true, true).contains("\"ann\""));
        let without = hub(&topics(), &plan(false, false));
        assert_eq!(without["cmps"]["notify"], json!({"p": "notify"}), "what was there is taken away");
    }
}
