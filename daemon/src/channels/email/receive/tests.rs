//! Reading a folder, with a server that follows a script.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Incoming, Owner, Settings, Tempo, mock::Server};
use crate::{
    channels::{
        PartKey,
        email::{
            mock::AUTHORITY,
            submission::{Login, Security},
        },
        hub_handle::{FileStream, HubHandle, NotKept, Unavailable},
        received::{Batch, Event, Received},
        testing::hub::HubMock,
    },
    clock::now_ms,
    message::{
        action::Action,
        attachment::Attachment,
        form::{Entry, Taken},
    },
    settings::secret::Secret,
};

const QUICK: Tempo = Tempo {
    address: Duration::from_secs(5),
    step: Duration::from_secs(2),
    block: Duration::from_secs(5),
    search: Duration::from_secs(60),
    poll: Duration::from_millis(20),
    first: Duration::from_millis(5),
    longest: Duration::from_millis(20),
    refused: Duration::from_secs(60),
    good: Duration::from_secs(60),
};
const STREAM: &str = "hub/INBOX";

fn account(server: &Server, security: Security, tempo: Tempo) -> Incoming {
    let settings = Settings {
        host: "localhost".into(),
        port: Some(server.port),
        security,
        login: Login { user: "hub".into(), password: Secret::from("hunter2").into() },
        folder: "INBOX".into(),
        authority: Some(AUTHORITY.to_vec()),
    };
    let owner = Owner { addresses: vec!["hub@hub.test".into()], authserv_id: Some("mx.hub.test".into()) };
    Incoming::new("home", settings, owner, tempo).unwrap()
}

fn mail(subject: &str) -> String {
    format!(
        "From: Ada <ada@example.org>\r\nMessage-ID: <{subject}@example.org>\r\nSubject: {subject}\r\n\r\nHello\r\n"
    )
}

/// Reads until `until` is over.
async fn reads<T>(account: &Incoming, hub: &dyn HubHandle, until: impl Future<Output = T>) -> T {
    let reading = async {
        tokio::select! {
            () = account.listen(hub) => unreachable!("it ends with the hub"),
            done = until => done,
        }
    };
    timeout(Duration::from_secs(20), reading).await.expect("it takes too long")
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn texts(received: &[Received]) -> Vec<&str> {
    received.iter().map(|one| one.event.words().unwrap().text.split('\n').next().unwrap()).collect()
}

#[tokio::test]
async fn what_was_there_engages_nobody_and_what_comes_is_heard_at_once() {
    for security in [Security::Implicit, Security::Starttls] {
        let (server, hub) = (Server::start(security), HubMock::default());
        server.put(&mail("old"));
        let account = account(&server, security, QUICK);
        let received = reads(&account, &hub, async {
            until(|| !server.heard("IDLE").is_empty()).await;
            assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:1"));
            server.put(&mail("new"));
            hub.received(1).await;
            server.put(&mail("newer"));
            hub.received(2).await
        });
        assert_eq!(texts(&received.await), ["new", "newer"]);
        assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:3"));
        assert_eq!(server.state().connections, 1);
    }
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was_through_a_week() {
    let server = Server::start(Security::Implicit);
    for n in 1..=45 {
        server.put_at(&mail(&format!("mail{n}")), now_ms() - 7 * 24 * 3_600_000, None);
    }
    let hub = HubMock::at(&[(STREAM, "7:2")]);
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(43)).await;
    let wanted: Vec<String> = (3..=45).map(|n| format!("mail{n}")).collect();
    assert_eq!(texts(&received), wanted);
    assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:45"));
}

#[tokio::test]
async fn where_uids_mean_nothing_any_more_the_last_day_is_read_again() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:2")]));
    server.put_at(&mail("old"), now_ms() - 25 * 3_600_000, None);
    server.put_at(&mail("today"), now_ms() - 3_600_000, None);
    server.count_anew();
    let account = account(&server, Security::Implicit, QUICK);
    reads(&account, &hub, async {
        until(|| hub.at_position(STREAM).as_deref() == Some("8:2")).await;
        server.put(&mail("next"));
        assert_eq!(texts(&hub.received(2).await), ["today", "next"]);
    })
    .await;
}

#[tokio::test]
async fn what_the_hub_did_not_write_down_comes_again() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    server.put(&mail("one"));
    hub.fail(2);
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(1)).await;
    assert_eq!(texts(&received), ["one"]);
    assert_eq!(server.state().connections, 3);
    assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:1"));
}

#[tokio::test]
async fn a_wrong_password_is_not_tried_again_and_again_nor_told() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::default());
    server.state().password = "another";
    let account = account(&server, Security::Implicit, QUICK);
    let idle = account.said().await;
    assert!(idle.contains("refused the login") && idle.contains("imap_password"), "{idle}");
    reads(&account, &hub, tokio::time::sleep(Duration::from_millis(300))).await;
    let said = account.said().await;
    assert!(
        said.contains("refused the login") && said.contains("***") && !said.contains("hunter2"),
        "{said}"
    );
    assert_eq!(server.state().connections, 2);
}

#[tokio::test]
async fn a_server_that_is_set_up_otherwise_is_described() {
    let said = async |prepare: fn(&Server), security: Security| {
        let server = Server::start(security);
        prepare(&server);
        account(&server, security, QUICK).said().await
    };
    assert!(said(|_| {}, Security::Implicit).await.starts_with("reads INBOX at localhost:"));
    let preauth = said(|server| server.state().greeting = "* PREAUTH hello", Security::Starttls).await;
    assert!(preauth.contains("takes no login"), "{preauth}");
    let busy = said(|server| server.state().greeting = "* BYE too many", Security::Implicit).await;
    assert!(busy.contains("does not want to speak"), "{busy}");
    let chatty = said(|server| server.state().chatter = 5_000, Security::Implicit).await;
    assert!(chatty.contains("more than it was asked for"), "{chatty}");
    // TLS from the first byte, and a server that waits for STARTTLS.
    let server = Server::start(Security::Starttls);
    let said = account(&server, Security::Implicit, QUICK).said().await;
    assert!(said.contains("check imap_host, imap_port and imap_tls"), "{said}");
}

#[tokio::test]
async fn mail_that_breaks_the_connection_stops_no_other() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    for subject in ["one", "head", "none", "refused", "last"] {
        server.put(&mail(subject));
    }
    server.state().breaks = vec![(2, false), (3, false), (3, true)];
    server.state().refuses = vec![4];
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(3)).await;
    assert_eq!(texts(&received), ["one", "head", "last"]);
    let words = received[1].event.words().unwrap();
    assert_eq!((words.text.as_str(), words.missing.len()), ("head", 1));
    assert_eq!(hub.dropped().len(), 2);
    assert_eq!(server.state().connections, 1 + 3 + 6 + 6);
    // What was read before the break is not read again.
    assert_eq!(server.heard("UID FETCH 1 (UID BODY.PEEK[]").len(), 1);
}

const LIST: &str = "RFC822.SIZE";
const BODY: &str = "BODY.PEEK[]";
const FIRST: &str = "* 1 FETCH (UID 1 RFC822.SIZE 100 INTERNALDATE \"28-Nov-2026 10:00:00 +0000\")\r\n";

#[tokio::test]
async fn what_the_server_refuses_once_or_breaks_off_is_asked_for_again_and_never_passed_over() {
    for (command, said) in [
        (LIST, "!NO [UNAVAILABLE] busy".to_owned()),
        (LIST, "!BAD [SERVERBUG] internal error".to_owned()),
        (LIST, "* BYE Server shutting down\r\n".to_owned()),
        (LIST, String::new()),
        (LIST, FIRST.to_owned()),
        (LIST, format!("{FIRST}!NO busy")),
        // It is done, and says nothing of two mails that are there.
        (LIST, format!("{FIRST}!OK done")),
        (BODY, "!NO busy".to_owned()),
        (BODY, "* BYE Server shutting down\r\n".to_owned()),
        (BODY, String::new()),
        ("UID SEARCH", "!NO busy".to_owned()),
        ("UID SEARCH", String::new()),
    ] {
        let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
        for subject in ["one", "two", "three"] {
            server.put(&mail(subject));
        }
        server.state().instead.push_back((command, said.clone().leak()));
        let account = account(&server, Security::Implicit, QUICK);
        let received = reads(&account, &hub, hub.received(3)).await;
        assert_eq!(texts(&received), ["one", "two", "three"], "{command} {said}");
        assert_eq!((server.state().connections, hub.dropped().len()), (2, 0), "{command} {said}");
        assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:3"));
    }
}

#[tokio::test]
async fn a_search_that_is_refused_where_uids_mean_nothing_any_more_ends_no_day() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "6:2")]));
    server.put(&mail("today"));
    server.state().instead.push_back(("SINCE", "!NO busy"));
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(1)).await;
    assert_eq!(texts(&received), ["today"]);
}

#[tokio::test]
async fn a_mail_of_which_the_server_says_nothing_each_time_is_counted_and_keeps_back_no_other() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    for subject in ["one", "none", "three"] {
        server.put(&mail(subject));
    }
    server.state().conceals = vec![2];
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(2)).await;
    assert_eq!(texts(&received), ["one", "three"]);
    assert_eq!(
        hub.dropped().iter().map(|one| one.what.as_str()).collect::<Vec<_>>(),
        ["mail that the server does not hand out"]
    );
    assert_eq!(server.state().connections, 1 + 6 + 1);
    assert_eq!(hub.at_position(STREAM).as_deref(), Some("7:3"));
}

#[tokio::test]
async fn a_server_that_is_out_of_order_for_a_while_costs_no_mail() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    server.put(&mail("one"));
    server.state().instead.extend([(LIST, "!NO [UNAVAILABLE] busy"); 9]);
    server.state().instead.extend([(BODY, "!NO [INUSE] busy"); 9]);
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(1)).await;
    assert_eq!(texts(&received), ["one"]);
    assert!(received[0].event.words().unwrap().missing.is_empty() && hub.dropped().is_empty());
}

#[tokio::test]
async fn a_mail_that_is_too_large_is_a_row_with_its_subject() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    server.put_at(&mail("large"), now_ms(), Some(64 * 1024 * 1024));
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(1)).await;
    let words = received[0].event.words().unwrap();
    assert_eq!(words.text, "large");
    assert_eq!(words.missing, ["the text and files: the mail has 64 MB, and 25 are read"]);
    assert!(server.heard("UID FETCH 1 (UID BODY.PEEK[]").is_empty());
}

#[tokio::test]
async fn a_mail_comes_in_blocks_with_its_files() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    let file = "0123456789".repeat(60_000);
    server.put(&format!(
        "From: ada@example.org\r\nSubject: Files\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHere.\r\n--b\r\n\
         Content-Type: text/csv\r\nContent-Disposition: attachment; filename=\"a.csv\"\r\n\r\n{file}\r\n--b--\r\n"
    ));
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.received(1)).await;
    let words = received[0].event.words().unwrap();
    assert_eq!(words.text, "Files\n\nHere.");
    assert_eq!((words.files[0].name.as_str(), words.files[0].kind.as_str()), ("a.csv", "text/csv"));
    assert_eq!(hub.files(), [file.as_bytes()]);
    assert_eq!(server.heard("UID FETCH 1 (UID BODY.PEEK[]").len(), 3);
}

#[tokio::test]
async fn a_server_that_does_not_tell_is_asked() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    server.state().can = "IMAP4rev1 ID";
    let account = account(&server, Security::Implicit, QUICK);
    reads(&account, &hub, async {
        until(|| server.heard("UID SEARCH").len() > 2).await;
        server.put(&mail("new"));
        hub.received(1).await;
    })
    .await;
    assert_eq!(server.heard("ID ").len(), 1);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    server.state().silent = true;
    let tempo = Tempo { step: Duration::from_millis(200), ..QUICK };
    let account = account(&server, Security::Implicit, tempo);
    reads(&account, &hub, async {
        until(|| server.state().connections > 1).await;
        assert!(account.said().await.contains("says nothing within"));
        server.state().silent = false;
        server.put(&mail("new"));
        hub.received(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_search_comes_even_where_the_server_forgets_to_tell() {
    let (server, hub) = (Server::start(Security::Implicit), HubMock::at(&[(STREAM, "7:0")]));
    let account = account(&server, Security::Implicit, Tempo { search: Duration::from_millis(50), ..QUICK });
    reads(&account, &hub, until(|| server.heard("UID SEARCH").len() > 3)).await;
    assert_eq!(server.state().connections, 1);
    assert!(Tempo::USUAL.search < Duration::from_mins(29), "RFC 2177");
}

/// A hub that sent one part.
struct Sent(HubMock);

const PART: &str = "01a20d24afcc750aae2168f50e09a72b";

#[async_trait]
impl HubHandle for Sent {
    async fn newest(&self, action: Action) -> Option<Value> {
        self.0.newest(action).await
    }

    async fn request(&self, key: &PartKey) -> Result<Option<Value>, Unavailable> {
        Ok((key.0 == PART).then(|| json!({})))
    }

    async fn entered(&self, key: &PartKey, id: &str, entry: Entry) -> Result<Taken, Unavailable> {
        self.0.entered(key, id, entry).await
    }

    async fn receive(&self, batch: Batch) -> Result<(), Unavailable> {
        self.0.receive(batch).await
    }

    async fn position(&self, stream: &str) -> Result<Option<String>, Unavailable> {
        self.0.position(stream).await
    }

    async fn keep_file(
        &self,
        name: Option<&str>,
        _: Option<&str>,
        _: FileStream<'_>,
    ) -> Result<Attachment, NotKept> {
        Err(NotKept(format!("there is no room for {name:?}")))
    }
}

#[tokio::test]
async fn an_answer_is_to_the_account_if_the_hub_sent_what_it_answers() {
    let (server, hub) = (Server::start(Security::Implicit), Sent(HubMock::at(&[(STREAM, "7:0")])));
    for id in [PART, "01a20d24afcc750aae2168f50e09a72c"] {
        server.put(&format!("From: ada@example.org\r\nIn-Reply-To: <{id}@hub.test>\r\n\r\nYes.\r\n"));
    }
    server.put(
        "From: ada@example.org\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=a.csv\r\n\r\n1,2\r\n",
    );
    let account = account(&server, Security::Implicit, QUICK);
    let received = reads(&account, &hub, hub.0.received(3)).await;
    let mine = |received: &Received| match &received.event {
        Event::Message(words) => (words.reply_to.as_ref().unwrap().mine, received.mentions_me),
        _ => unreachable!(),
    };
    assert_eq!((mine(&received[0]), mine(&received[1])), ((true, true), (false, false)));
    let words = received[2].event.words().unwrap();
    assert_eq!(words.missing, ["a.csv: there is no room for Some(\"a.csv\")"]);
}
