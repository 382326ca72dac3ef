//! Finding a chat: the account receives, as it would in a hub, until somebody writes in the chat that is meant.
//!
//! Nothing is acknowledged to the platform of the message by which the chat is found: the hub, once it receives there, has it too.
//! What a stranger calls themselves is shown harmlessly, and decides nothing: the person before the terminal says which chat it is.

use std::{collections::BTreeSet, pin::pin, time::Duration};

use async_trait::async_trait;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, interval_at, sleep_until},
};

use super::{asking::Asking, platform::Candidate};
use crate::{
    channels::{
        self,
        hub_handle::{HubHandle, Unavailable},
        received::{AuthorKind, Batch, Event, Received},
    },
    cli::Failed,
    printing::{print_note, visible_line},
};

/// Characters of a message that are shown.
const SHOWN: usize = 60;
/// How often the account is asked whether it hears at all.
const LOOK: Duration = Duration::from_secs(5);

/// Waits for somebody to write, at most so long, and asks whether that is the chat; its address.
///
/// # Errors
/// Nobody writes, or nothing can be heard.
pub(super) async fn find(
    candidate: &Candidate,
    me: &str,
    asking: Asking,
    time: Duration,
) -> Result<String, Failed> {
    let adapter = candidate.open(true)?;
    let (heard, mut hears) = mpsc::channel(1);
    let ear = Ear(heard);
    let mut listening = pin!(adapter.listen(&ear));
    print_note!(
        "Now write a message to {}, or to a group that it is in (mention it there).\nThis waits {}; Ctrl-C stops, and nothing is written.",
        visible_line(me),
        duration(time)
    );
    let mut until = Instant::now() + time;
    let mut look = interval_at(Instant::now() + LOOK, LOOK);
    let (mut refused, mut told) = (BTreeSet::new(), String::new());
    loop {
        tokio::select! {
            () = &mut listening => {
                return Err(Failed::Refused(format!("{} tells nothing of what people write", candidate.platform.name)));
            }
            Some(Heard { received, go_on }) = hears.recv() => {
                let address = received.conversation.address.clone();
                if !refused.contains(&address) {
                    print_note!("{}", who_wrote(&received));
                    if asking.yes("Is this the chat?").await? {
                        return Ok(address);
                    }
                    refused.insert(address);
                    print_note!("Then it waits for another one.");
                    until = Instant::now() + time;
                }
                // Only now the account goes on, and acknowledges it.
                let _ = go_on.send(());
            }
            _ = look.tick() => {
                let trouble = trouble(channels::ready(adapter.as_ref()).await, me);
                if let Some(trouble) = trouble.filter(|trouble| *trouble != told) {
                    print_note!("{}", visible_line(&trouble));
                    told = trouble;
                }
            }
            () = sleep_until(until) => {
                return Err(Failed::Refused(format!(
                    "nobody wrote to {} within {}; nothing was written. Run it again, or name the chat with --to",
                    visible_line(me),
                    duration(time)
                )));
            }
        }
    }
}

/// What keeps the account from hearing, if it says anything but who it is.
fn trouble(ready: Result<String, channels::NotReady>, me: &str) -> Option<String> {
    match ready {
        Ok(same) if same == me => None,
        Ok(more) => {
            Some(more.strip_prefix(me).map_or(more.clone(), |more| more.trim_start_matches("; ").into()))
        }
        Err(why) => Some(why.to_string()),
    }
}

fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds >= 120 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        1 => "1 second".into(),
        seconds => format!("{seconds} seconds"),
    }
}

/// Who wrote what and where, on one line.
fn who_wrote(received: &Received) -> String {
    let Received { author, conversation, event, .. } = received;
    let name = author.name.as_deref().unwrap_or("somebody");
    let place = match (conversation.direct, &conversation.title) {
        (true, _) => "directly".to_owned(),
        (false, Some(title)) => format!("in \"{title}\""),
        (false, None) => "in a group".into(),
    };
    let text = event.words().map_or("", |words| &words.text);
    let first = text.lines().next().unwrap_or_default();
    let mut said: String = first.chars().take(SHOWN).collect();
    if said.len() < text.len() {
        said.push('…');
    }
    let line = format!("{name} (id {}) wrote {place}, chat {}: \"{said}\"", author.id, conversation.address);
    visible_line(&line).into_owned()
}

/// A message, and what lets the account go on.
struct Heard {
    received: Box<Received>,
    go_on: oneshot::Sender<()>,
}

/// What the account takes for its hub.
struct Ear(mpsc::Sender<Heard>);

#[async_trait]
impl HubHandle for Ear {
    async fn position(&self, _: &str) -> Result<Option<String>, Unavailable> {
        Ok(None)
    }

    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        for received in batch.received.into_iter().filter(is_words).filter_map(|one| one.bounded().ok()) {
            let (go_on, goes_on) = oneshot::channel();
            let heard = Heard { received: Box::new(received), go_on };
            self.0.send(heard).await.map_err(|_| Unavailable)?;
            goes_on.await.map_err(|_| Unavailable)?;
        }
        Ok(())
    }
}

/// Whether a person wrote something.
fn is_words(received: &Received) -> bool {
    matches!(received.event, Event::Message(_)) && received.author.kind == AuthorKind::Person
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::received::{Author, Conversation, Words};

    fn received(name: &str, title: Option<&str>, text: &str) -> Received {
        Received {
            key: String::new(),
            conversation: Conversation {
                address: "777".into(),
                direct: title.is_none(),
                title: title.map(str::to_owned),
                ..Conversation::default()
            },
            author: Author { id: "777".into(), name: Some(name.into()), ..Author::default() },
            message_id: None,
            said_at: None,
            mentions_me: false,
            event: Event::Message(Words { text: text.into(), ..Words::default() }),
        }
    }

    #[test]
    fn names_and_words_of_strangers_steer_no_terminal_and_stay_on_one_line() {
        let line =
            who_wrote(&received("Ann\u{1b}[2J\u{202e}\n", Some("Fam\u{200b}ily\r"), "Hi\u{9b}1A\nthere"));
        assert_eq!(
            line,
            "Ann<U+001B>[2J<U+202E><U+000A> (id 777) wrote in \"Fam<U+200B>ily<U+000D>\", chat 777: \"Hi<U+009B>1A…\""
        );
        let long = who_wrote(&received("Ann", None, &"x".repeat(500)));
        assert!(long.ends_with(&format!("directly, chat 777: \"{}…\"", "x".repeat(SHOWN))), "{long}");
    }

    #[test]
    fn trouble_is_what_the_account_says_beside_who_it_is() {
        assert_eq!(trouble(Ok("@bot".into()), "@bot"), None);
        assert_eq!(
            trouble(Ok("@bot; nothing is received".into()), "@bot"),
            Some("nothing is received".into())
        );
    }

    #[test]
    fn programs_and_presses_are_no_words() {
        let mut one = received("Ann", None, "Hi");
        assert!(is_words(&one));
        one.author.kind = AuthorKind::Program;
        assert!(!is_words(&one));
        one.author.kind = AuthorKind::Person;
        one.event = Event::Join;
        assert!(!is_words(&one));
    }

    #[test]
    fn times_are_told_as_people_do() {
        assert_eq!(duration(Duration::from_mins(3)), "3 minutes");
        assert_eq!(duration(Duration::from_secs(5)), "5 seconds");
    }
}
