//! Platforms with one person at each, Ann, as the tests play them: all of them in one shape.

pub(crate) mod discord;
pub(crate) mod email;
pub(crate) mod googlechat;
pub(crate) mod imessage;
pub(crate) mod matrix;
pub(crate) mod notified;
pub(crate) mod ntfy;
pub(crate) mod signal;
pub(crate) mod slack;
pub(crate) mod teams;
pub(crate) mod telegram;
pub(crate) mod webhook;
pub(crate) mod whatsapp_cloud;
pub(crate) mod whatsapp_evolution;

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use serde_json::Value;

/// So many hubs run at once: most of what they do is to wait.
const AT_ONCE: usize = 4;

/// Something that happens there. Told again with the same number it is the same event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told<'a> {
    /// Ann writes her line of this number.
    Line(usize, &'a str),
    /// Ann changes that line, once.
    Edit(usize, &'a str),
    /// Something of a kind that is not in any documentation.
    Strange(usize),
}

/// A message of the hub's, as Ann has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The platform's id of it.
    pub(crate) id: String,
    /// Its words, after all edits.
    pub(crate) text: String,
}

/// A platform, and Ann there.
pub(crate) trait House: Send + Sync {
    /// What it is called here: the channel, and by which of its programs.
    fn name(&self) -> &'static str;

    /// The channel.
    fn channel(&self) -> &'static str {
        self.name()
    }

    /// The account, as a configuration. Its name is `home`.
    fn account(&self) -> String;

    /// The ports at which the platform is, as the account names them.
    fn ports(&self) -> Vec<u16> {
        let account = self.account();
        let after = account.split("127.0.0.1:").skip(1);
        let digits = after.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        let mut ports: Vec<u16> = digits.filter_map(|port| port.parse().ok()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// The platform is reached by this port from now on, if it tells its address itself.
    fn is_reached_by(&self, _port: u16) -> Result<()> {
        Ok(())
    }

    /// The hub is at this port, if the platform tells it of its own accord.
    fn hub_is_at(&self, _port: u16) {}

    /// Whether it does.
    fn notifies(&self) -> bool {
        false
    }

    /// Whether the account hears by now, as `/v1/channels` has it: it may say so before it does.
    fn listens(&self, _account: &Value) -> bool {
        true
    }

    /// What else its route needs.
    fn route(&self) -> &'static str {
        ""
    }

    /// What the hub calls a line of hers: a program's is no message.
    fn kind(&self) -> &'static str {
        "message"
    }

    /// By what the hub knows Ann.
    fn id(&self) -> String;

    /// It happens; when this returns the platform has it, and one that notifies the hub was answered. Whether the platform tells
    /// such a thing at all.
    ///
    /// # Errors
    /// It did not happen: the hub that was notified did not take it. A platform tells it again later.
    fn tell(&self, told: Told<'_>) -> Result<bool>;

    /// Everything of the hub's that Ann has, in the order in which it came. What the platform knows again by its key is there once.
    ///
    /// # Errors
    /// The platform does not say.
    fn arrived(&self) -> Result<Vec<Arrived>>;

    /// Whether it keeps what it cannot tell, and tells it later.
    fn remembers(&self) -> bool {
        true
    }

    /// How long the hub waits between two messages at most, as its platform wants it.
    fn pace(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// How long the hub hears nothing on a connection before it gives it up, where that is longer than anybody's patience.
    fn silence(&self) -> Duration {
        Duration::ZERO
    }

    /// How many pieces a line and its answer are on one wire, about.
    fn pieces(&self) -> usize {
        12
    }

    /// How many lines each way are many here, for who has not all day.
    fn usual_lines(&self) -> u64 {
        30
    }

    /// How it refuses a token, by headers as lines and a body, with 401; nothing if it speaks no HTTP.
    fn refuses_token(&self) -> Option<(&'static str, &'static str)> {
        Some(("", "{}"))
    }

    /// Whether it tells things in the order in which they happened, also after it was not heard.
    fn keeps_order(&self) -> bool {
        true
    }

    /// Whether it keeps only the newest words of what was changed.
    fn edits_in_place(&self) -> bool {
        false
    }

    /// A client that others have written for it (`tests/peers/readers`), and its arguments: it judges the double.
    fn client(&self) -> Option<(&'static str, Vec<String>)> {
        None
    }

    /// Whether it tells of edits.
    fn tells_edits(&self) -> bool {
        true
    }
}

/// The rules of a hub at which Ann writes to the engineer from all of these.
pub(crate) fn rules<'a>(houses: impl Iterator<Item = &'a dyn House> + Clone) -> String {
    let ids: Vec<String> = houses.clone().map(House::id).collect();
    let everywhere: Vec<String> = houses.clone().map(|house| format!("{}:*", house.channel())).collect();
    let mut rules = format!(
        "[agents.engineer]\nper_minute = 0\nallow = {everywhere:?}\ndecorate = false\n\
         [people.ann]\nids = {ids:?}\nscope = \"owner\"\n"
    );
    for house in houses {
        let (channel, more) = (house.channel(), house.route());
        rules += &format!(
            "[routes.{channel}]\nfrom = [\"{channel}:*\"]\nagent = \"engineer\"\nengage = \"pattern\"\npattern = \".\"\n{more}"
        );
    }
    rules
}

/// Opens a platform.
type Open = fn() -> Result<Box<dyn House>>;

/// All of them, by name.
const HOUSES: &[(&str, Open)] = &[
    ("telegram", || Ok(Box::new(telegram::Telegram::open()?))),
    ("signal", || Ok(Box::new(signal::Signal::open()?))),
    ("matrix", || Ok(Box::new(matrix::Matrix::open()?))),
    ("discord", || Ok(Box::new(discord::Discord::open()?))),
    ("slack", || Ok(Box::new(slack::Slack::open()?))),
    ("email", || Ok(Box::new(email::Email::open()?))),
    ("ntfy", || Ok(Box::new(ntfy::Ntfy::open()?))),
    ("whatsapp_cloud", || Ok(Box::new(whatsapp_cloud::WhatsAppCloud::open()?))),
    ("whatsapp_evolution", || Ok(Box::new(whatsapp_evolution::WhatsAppEvolution::open()?))),
    ("imessage", || Ok(Box::new(imessage::IMessage::open()?))),
    ("googlechat", || Ok(Box::new(googlechat::GoogleChat::open()?))),
    ("teams", || Ok(Box::new(teams::Teams::open()?))),
    ("webhook", || Ok(Box::new(webhook::Webhook::open()?))),
];

/// Whether this one is among those that `RECEIVING_HOUSES` names, with commas; all of them where it names none.
fn is_wanted(name: &str) -> bool {
    let wanted = std::env::var("RECEIVING_HOUSES").unwrap_or_default();
    wanted.is_empty() || wanted.split(',').any(|one| one == name)
}

/// One of each that is wanted.
pub(crate) fn all() -> Result<Vec<Box<dyn House>>> {
    HOUSES.iter().filter(|(name, _)| is_wanted(name)).map(|(_, open)| open()).collect()
}

/// Does the same with a fresh house of each kind, or of those that `RECEIVING_HOUSES` names, two at a time; what went wrong in which.
pub(crate) fn each(does: impl Fn(&dyn House) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, open)) = HOUSES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !is_wanted(name) {
                        continue;
                    }
                    let start = Instant::now();
                    let done = open().and_then(|house| does(&*house));
                    println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
                    if let Err(why) = done {
                        wrong.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{name}: {why:#}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}
