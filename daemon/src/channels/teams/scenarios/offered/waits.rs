//! An OneDrive that says "not now".

use super::*;

const THERE: Reply = Reply::Says(201, "", r#"{"id":"drive"}"#);

/// Somebody accepts the file, and OneDrive answers so; what the agent is told of the file, and how often it was uploaded.
async fn handed(answers: &[Reply]) -> (String, usize) {
    let mut script = published().to_vec();
    script.extend_from_slice(answers);
    script.extend([GRANTED, CREATED]);
    let mock = Mock::start(&script);
    let staged = Files::new();
    let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
    let (files, caption) = (document(&staged), part("The plan"));
    let request = teams.composed(&OutgoingPart { files: &files, ..sample::outgoing(ANN, &caption) });
    let hub = Known { request: Some((key(), request)), ..Known::default() };
    let accepted = activity(&accepted(&key().0, mock.port));
    teams
        .read_callback(&token(&header(), &claims()), accepted.to_string().as_bytes(), &HubMock::default())
        .await
        .unwrap();
    let told = hub.told(&teams, 1).await;
    let heard = mock.heard();
    let uploads: Vec<&String> = heard.iter().filter(|request| request.starts_with("PUT ")).collect();
    assert!(uploads.iter().all(|upload| upload.ends_with("%PDF-1.7 hello")), "{uploads:?}");
    (told[0].values["file"].clone(), uploads.len())
}

#[tokio::test]
async fn a_file_that_onedrive_cannot_take_now_is_uploaded_again_when_it_can() {
    let busy = Reply::Says(429, "Retry-After: 1\r\n", "{}");
    let locked = Reply::Says(423, "", r#"{"error":{"code":"resourceLocked"}}"#);
    let start = std::time::Instant::now();
    assert_eq!(handed(&[busy, locked, THERE]).await, ("handed over".into(), 3));
    // The second that OneDrive asked for, and the first pause of the hub's own.
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_file_that_onedrive_wants_much_later_or_never_is_told_of() {
    let much_later = Reply::Says(429, "Retry-After: 301\r\n", "{}");
    for (answer, says) in
        [(much_later, "OneDrive answered 429"), (Reply::Says(409, "", "{}"), "OneDrive answered 409")]
    {
        let (told, uploads) = handed(&[answer]).await;
        assert!(
            told.starts_with("not handed over: ") && told.contains(says) && !told.contains("hush"),
            "{told}"
        );
        assert_eq!(uploads, 1);
    }
}

#[tokio::test]
async fn what_onedrive_answers_is_sorted_by_whether_it_passes() {
    let later = "Retry-After: 7\r\n";
    for (status, head, passes) in [
        (408, "", true),
        (423, "", true),
        (423, later, true),
        (429, "", true),
        (500, "", true),
        (503, "", true),
        (429, later, true),
        (503, later, true),
        (400, "", false),
        (403, later, false),
        (404, "", false),
        (409, "", false),
        (416, "", false),
    ] {
        let mock = Mock::start(&[Reply::Says(status, head, "hush")]);
        let staged = Files::new();
        let teams = bot_with(mock.port, Secret::from("hush~secret"), staged.kept());
        let file = client::open(&document(&staged)[0].reference(), &staged.kept()).await.unwrap();
        let url = format!("http://127.0.0.1:{}/drive/up", mock.port).parse().unwrap();
        let failure = teams.client.upload(&url, file).await.unwrap_err();
        let waits = matches!(status, 429 | 503) && !head.is_empty();
        let sorted = match &failure {
            Failure::Wait { after, .. } => waits && *after == Duration::from_secs(7),
            Failure::Retry(_) => passes && !waits,
            Failure::Permanent(_) => !passes,
            _ => false,
        };
        assert!(sorted, "{status} {head}: {failure:?}");
        assert!(!format!("{failure:?}").contains("hush"), "{failure:?}");
    }
}
