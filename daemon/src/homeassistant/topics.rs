//! Where things are said at the broker. Never below `gatepost/1`, which is the sealed link of companions.

/// What the hub's own topics begin with.
const ROOT: &str = "gatepost/ha";

/// The topics of one hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topics {
    /// The hub's short name.
    pub(super) hub: String,
    /// What Home Assistant's discovery topics begin with.
    prefix: String,
}

/// What is said in a topic that the hub listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard<'t> {
    /// Home Assistant has come, or goes.
    Status,
    /// A notification.
    Notify,
    /// An update is asked for: of the companion of this short name, or of the hub.
    Install(Option<&'t str>),
}

impl Topics {
    /// Those of the hub of this short name.
    pub(super) fn new(hub: &str, prefix: &str) -> Self {
        Self { hub: hub.to_owned(), prefix: prefix.to_owned() }
    }

    /// Home Assistant's own.
    pub(super) fn status(&self) -> String {
        format!("{}/status", self.prefix)
    }

    /// What a device is, by its short name.
    pub(super) fn config(&self, device: &str) -> String {
        format!("{}/device/gatepost_{device}/config", self.prefix)
    }

    /// Whether the hub is here.
    pub(super) fn online(&self) -> String {
        self.of_hub("online")
    }

    /// One of the hub.
    pub(super) fn of_hub(&self, what: &str) -> String {
        format!("{ROOT}/{}/{what}", self.hub)
    }

    /// One of a companion, by its short name.
    pub(super) fn of_companion(&self, companion: &str, what: &str) -> String {
        format!("{ROOT}/{}/companion/{companion}/{what}", self.hub)
    }

    /// What a topic is for, if it is one to listen to.
    pub(super) fn read<'t>(&self, topic: &'t str) -> Option<Heard<'t>> {
        if topic == self.status() {
            return Some(Heard::Status);
        }
        let own = topic.strip_prefix(ROOT)?.strip_prefix('/')?.strip_prefix(&*self.hub)?.strip_prefix('/')?;
        match own {
            "notify" => Some(Heard::Notify),
            "update/install" => Some(Heard::Install(None)),
            own => {
                let companion = own.strip_prefix("companion/")?.strip_suffix("/update/install")?;
                Some(Heard::Install(Some(companion)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_where_is_read_back_and_no_other_topic_means_anything() {
        let topics = Topics::new("ab12", "homeassistant");
        assert_eq!(topics.read(&topics.status()), Some(Heard::Status));
        assert_eq!(topics.read(&topics.of_hub("notify")), Some(Heard::Notify));
        assert_eq!(topics.read(&topics.of_hub("update/install")), Some(Heard::Install(None)));
        let install = topics.of_companion("cd34", "update/install");
        assert_eq!(topics.read(&install), Some(Heard::Install(Some("cd34"))));
        for other in [
            "",
            "gatepost/ha",
            "gatepost/ha/ab12",
            "gatepost/ha/ab1/notify",
            "gatepost/ha/ab123/notify",
            "gatepost/ha/ab12/notify/x",
            "gatepost/ha/ab12/companion/update/install",
            "gatepost/1/ab12/notify",
            "other/status",
        ] {
            assert_eq!(topics.read(other), None, "{other}");
        }
        assert_eq!(topics.config("cd34"), "homeassistant/device/gatepost_cd34/config");
    }
}
