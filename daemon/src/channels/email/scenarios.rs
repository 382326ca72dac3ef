//! Tests of whole scenarios with a server that follows a script.

use std::time::Duration;

use lettre::transport::smtp::extension::ClientId;

use super::{
    mock::{AUTHORITY, Mock, Step},
    request::tests::request,
    submission::{Login, RateLimiter, Security, Submission, trust},
};
use crate::{
    channels::{
        Failure,
        testing::{http::nobody, sample::key},
    },
    settings::secret::Secret,
};

fn to(mock: &Mock, security: Security) -> Submission {
    Submission {
        host: "localhost".into(),
        port: mock.port,
        security,
        tls: trust("localhost", Some(AUTHORITY)).unwrap(),
        hello: ClientId::default(),
        login: Some(Login { user: "hub".into(), password: Secret::from("hunter2").into() }),
        limiter: RateLimiter {
            address: Duration::from_secs(5),
            step: Duration::from_secs(2),
            answer: Duration::from_millis(500),
        },
    }
}

async fn submit(mock: &Mock) -> Result<(), Failure> {
    to(mock, Security::Starttls).submit(&request().mail(&key()).unwrap()).await
}

#[tokio::test]
async fn a_mail_is_handed_over_inside_tls() {
    for security in [Security::Starttls, Security::Implicit] {
        let mock = Mock::start(security, &[]);
        to(&mock, security).submit(&request().mail(&key()).unwrap()).await.unwrap();
        let heard = mock.heard();
        for line in ["EHLO [127.0.0.1]", "MAIL FROM:<hub@hub.test>", "RCPT TO:<ada@example.org>", "DATA"] {
            assert!(heard.iter().any(|said| said == line), "{line} in {heard:?}");
        }
        assert!(heard.iter().any(|said| said.starts_with("Message-ID: <0011")), "{heard:?}");
    }
}

#[tokio::test]
async fn a_temporary_refusal_at_any_step_is_retried_with_the_servers_words() {
    for stage in ["greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "."] {
        let mock = Mock::start(Security::Starttls, &[(stage, Step::Answer("451 4.7.1 greylisted"))]);
        let failure = submit(&mock).await.unwrap_err();
        assert!(
            matches!(&failure, Failure::Retry(why) if why.contains("451 4.7.1 greylisted")),
            "{stage}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_for_good_at_any_step_is_permanent() {
    for stage in ["greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "."] {
        let mock = Mock::start(Security::Starttls, &[(stage, Step::Answer("550 5.1.1 no such user"))]);
        let failure = submit(&mock).await.unwrap_err();
        assert!(
            matches!(&failure, Failure::Permanent(why) if why.contains("550 5.1.1 no such user")),
            "{stage}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn a_line_that_breaks_before_the_content_is_retried() {
    for stage in ["greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA"] {
        let mock = Mock::start(Security::Starttls, &[(stage, Step::Close)]);
        let failure = submit(&mock).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{stage}: {failure:?}");
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_is_given_up() {
    for stage in ["greeting", "MAIL"] {
        let mock = Mock::start(Security::Starttls, &[(stage, Step::Hang)]);
        let failure = submit(&mock).await.unwrap_err();
        assert!(
            matches!(&failure, Failure::Retry(why) if why.contains("within 2 s")),
            "{stage}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn a_lost_answer_after_the_content_is_unknown() {
    for operation in [Step::Close, Step::Hang, Step::Answer("what?"), Step::Answer("354 go on")] {
        let mock = Mock::start(Security::Starttls, &[(".", operation)]);
        let failure = submit(&mock).await.unwrap_err();
        assert!(matches!(failure, Failure::Unknown(_)), "{operation:?}: {failure:?}");
    }
}

#[tokio::test]
async fn a_mail_that_did_not_wholly_leave_is_retried() {
    let mock = Mock::start(Security::Starttls, &[("content", Step::Hang)]);
    let mut mail = request().mail(&key()).unwrap();
    mail.content = b"more than any socket buffers\r\n".repeat(1_000_000).into();
    let failure = to(&mock, Security::Starttls).submit(&mail).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("whole mail")), "{failure:?}");
}

#[tokio::test]
async fn a_server_without_tls_gets_neither_password_nor_mail() {
    let mock = Mock::start(Security::Starttls, &[("EHLO", Step::Answer("250 localhost"))]);
    let failure = submit(&mock).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("STARTTLS")), "{failure:?}");
    assert!(mock.heard().iter().all(|said| said.starts_with("EHLO") || said == "QUIT"));
}

#[tokio::test]
async fn answers_slipped_in_before_the_handshake_do_not_count() {
    let forged =
        "220 ready\r\n250-localhost\r\n250 AUTH PLAIN\r\n235 in\r\n250 ok\r\n250 ok\r\n354 go\r\n250 queued";
    let mock = Mock::start(Security::Starttls, &[("STARTTLS", Step::Answer(forged))]);
    let failure = submit(&mock).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_before_anything_is_said() {
    let mock = Mock::start(Security::Starttls, &[]);
    let mut submission = to(&mock, Security::Starttls);
    // The machine that runs the tests may have no authorities at all; then there is nothing to compare with.
    let Ok(tls) = trust("localhost", None) else { return };
    submission.tls = tls;
    let failure = submission.submit(&request().mail(&key()).unwrap()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Permanent(why) if why.contains("ca_file")), "{failure:?}");
    assert_eq!(mock.heard().len(), 2, "EHLO and STARTTLS only: {:?}", mock.heard());
}

#[tokio::test]
async fn a_wrong_password_says_what_to_check_and_is_not_repeated() {
    let refusal = Step::Answer("535 5.7.8 AGh1YgBodW50ZXIy is wrong");
    let mock = Mock::start(Security::Starttls, &[("AUTH", refusal)]);
    let failure = to(&mock, Security::Starttls).knock().await.unwrap_err();
    assert!(
        matches!(&failure, Failure::Permanent(why) if why.contains("check user and password")
            && why.contains("535") && !why.contains("AGh1YgBodW50ZXIy") && !why.contains("hunter2")),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_knock_logs_in_and_sends_nothing() {
    let mock = Mock::start(Security::Starttls, &[]);
    let endpoint = to(&mock, Security::Starttls).knock().await.unwrap();
    assert_eq!(endpoint, format!("localhost:{} over TLS", mock.port));
    let heard = mock.heard();
    assert!(heard.iter().any(|said| said == "NOOP"), "{heard:?}");
    assert!(!heard.iter().any(|said| said.starts_with("MAIL")), "{heard:?}");
}

#[tokio::test]
async fn no_server_is_retried() {
    let port = nobody();
    let mock = Mock::start(Security::Starttls, &[]);
    for security in [Security::Starttls, Security::Implicit] {
        let submission = Submission { port, ..to(&mock, security) };
        let failure = submission.submit(&request().mail(&key()).unwrap()).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_any_more_leaves_no_mail_with_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let store = crate::store::Store::open(directory.path()).unwrap();
    let digest = gatepost_link::Digest::of(&[1; 200_000]);
    let path = directory.path().join("files").join(digest.to_string());
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, [1; 200_000]).unwrap();
    let mock = Mock::start(Security::Starttls, &[]);
    let mut mail = request().mail(&key()).unwrap();
    let place = [("PLACE".to_owned(), digest)];
    let content = super::content::Content::with_files(b"Subject: x\r\n\r\nPLACE".to_vec(), &place).unwrap();
    mail.content = content.open(&crate::files::kept::Kept::of(&store)).await.unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(100_000).unwrap();
    let failure = to(&mock, Security::Starttls).submit(&mail).await.unwrap_err();
    assert!(matches!(&failure, Failure::Retry(why) if why.contains("cannot be read")), "{failure:?}");
    // A farewell that is on its way would be heard behind it.
    tokio::time::sleep(Duration::from_millis(50)).await;
    // The mock may not have read all of it yet.
    let has_begun = async {
        while !mock.heard().iter().any(|said| said == "Subject: x") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), has_begun).await.expect("it had begun");
    assert!(!mock.heard().iter().any(|said| said == "QUIT"), "the line is cut, and no dot follows");
}
