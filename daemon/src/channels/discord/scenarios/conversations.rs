//! Which conversation a message goes to.

use super::*;
use crate::{channels::Receiver as _, message::target::Target};

#[tokio::test]
async fn a_thread_counts_only_in_its_own_channel() {
    const OURS: Reply =
        Reply::Says(200, "", r#"{"id":"7","type":11,"guild_id":"77","parent_id":"42","thread_metadata":{}}"#);
    const THEIRS: Reply =
        Reply::Says(200, "", r#"{"id":"7","type":11,"guild_id":"77","parent_id":"43","thread_metadata":{}}"#);
    // A channel beneath a category, whose id somebody allowed.
    const CHANNEL: Reply = Reply::Says(200, "", r#"{"id":"7","type":0,"guild_id":"77","parent_id":"42"}"#);
    let part = part("Hello");
    let mock = Mock::start(&[OURS, SENT, SENT]);
    let one = discord(mock.port, Secret::from(TOKEN));
    let request = one.composed(&OutgoingPart { thread: Some("7"), ..outgoing(&part) });
    assert_eq!(one.delivered(&request, &key()).await.unwrap(), "1001");
    one.delivered(&request, &key()).await.unwrap();
    let heard = mock.heard();
    is(&heard[0], "GET /api/v10/channels/7");
    is(&heard[1], "POST /api/v10/channels/7/messages");
    is(&heard[2], "POST /api/v10/channels/7/messages");
    for script in [&[THEIRS, SENT] as &'static [Reply], &[CHANNEL, SENT]] {
        let mock = Mock::start(script);
        let failure = discord(mock.port, Secret::from(TOKEN)).delivered(&request, &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains("no thread of")), "{failure:?}");
        assert_eq!(mock.heard().len(), 1);
    }
    // A question that nobody answered has sent nothing.
    let mock = Mock::start(&[Reply::Close]);
    let failure = discord(mock.port, Secret::from(TOKEN)).delivered(&request, &key()).await.unwrap_err();
    assert!(matches!(failure, Failure::Retry(_)), "{failure:?}");
}

#[tokio::test]
async fn a_name_that_several_channels_have_or_none_is_refused() {
    const SERVERS: Reply = Reply::Says(200, "", r#"[{"id":"9","name":"Home"},{"id":"10","name":"Club"}]"#);
    const KITCHEN: Reply = Reply::Says(200, "", r#"[{"id":"7","type":0,"name":"kitchen"}]"#);
    const ANOTHER: Reply = Reply::Says(200, "", r#"[{"id":"17","type":5,"name":"kitchen"}]"#);
    const ODD: Reply = Reply::Says(200, "", r#"[{"id":"../x","type":0,"name":"kitchen"}]"#);
    let find = async |script: &'static [Reply]| {
        let mock = Mock::start(script);
        let found = discord(mock.port, Secret::from(TOKEN)).identify("#kitchen").await;
        (found.map_err(|unidentified| unidentified.why), mock.heard())
    };
    let (found, heard) = find(&[SERVERS, KITCHEN, ANOTHER]).await;
    let why = "#kitchen is the name of more than one channel (7 on Home, 17 on Club): write the id";
    assert_eq!(found, Err(why.to_owned()));
    is(&heard[0], "GET /api/v10/users/@me/guilds");
    is(&heard[2], "GET /api/v10/guilds/10/channels");
    const EMPTY: Reply = Reply::Says(200, "", "[]");
    assert_eq!(
        find(&[SERVERS, EMPTY, EMPTY]).await.0,
        Err("no server of the bot's has a channel #kitchen".into())
    );
    assert!(find(&[SERVERS, ODD, EMPTY]).await.0.is_err());
    assert!(find(&[SERVERS, Reply::Close]).await.0.is_err());
}

#[tokio::test]
async fn a_person_is_found_by_their_user_name_and_whoever_looks_like_them_stops_it() {
    const SERVERS: Reply = Reply::Says(200, "", r#"[{"id":"9","name":"Home"},{"id":"10","name":"Club"}]"#);
    const EMPTY: Reply = Reply::Says(200, "", "[]");
    // On both servers, and one person all the same.
    const ANN: Reply = Reply::Says(
        200,
        "",
        r#"[{"user":{"id":"42","username":"ann","global_name":"Ann Lee"},"nick":null},
            {"user":{"id":"44","username":"anna"}}]"#,
    );
    const BOT: Reply = Reply::Says(
        200,
        "",
        r#"[{"user":{"id":"43","username":"robot","global_name":"A.N.N.","bot":true}}]"#,
    );
    const BY_NICK: Reply =
        Reply::Says(200, "", r#"[{"user":{"id":"66","username":"mallory"},"nick":"Ann"}]"#);
    const ODD: Reply = Reply::Says(200, "", r#"[{"user":{"id":"../x","username":"ann"}}]"#);
    let find = async |script: &'static [Reply], address: &str| {
        let mock = Mock::start(script);
        let discord = discord(mock.port, Secret::from(TOKEN));
        let found = discord.identify(&discord.resolve(address).unwrap()).await;
        (found.map(String::from).map_err(|unidentified| unidentified.why), mock.heard())
    };
    let (found, heard) = find(&[SERVERS, ANN, ANN], "@Ann").await;
    assert_eq!(found, Ok("@42".into()));
    is(&heard[1], "GET /api/v10/guilds/9/members/search?query=ann&limit=100");
    // What somebody has chosen is no user name, and the search does not find everybody by it.
    let why = "@ann lee (@42 on Home) has chosen that name, which is no user name: write the id";
    assert_eq!(find(&[SERVERS, ANN, EMPTY], "@ann lee").await.0, Err(why.into()));
    let why = "@ann (@66 on Club) has chosen that name, which is no user name: write the id";
    assert_eq!(find(&[SERVERS, EMPTY, BY_NICK], "@ann").await.0, Err(why.into()));
    let why = "@ann is the name of more than one person (@42 on Home, @43 on Club): write the id";
    assert_eq!(find(&[SERVERS, ANN, BOT], "@ann").await.0, Err(why.into()));
    // A user name is nobody else's, but a nickname may be worn to be taken for its owner.
    let why = "@ann is the name of more than one person (@42 on Home, @66 on Club): write the id";
    assert_eq!(find(&[SERVERS, ANN, BY_NICK], "@ann").await.0, Err(why.into()));
    let why = "no server of the bot's has a person @ann";
    assert_eq!(find(&[SERVERS, EMPTY, EMPTY], "@ann").await.0, Err(why.into()));
    assert!(find(&[SERVERS, ODD, EMPTY], "@ann").await.0.is_err());
    let many = format!("[{}]", vec![r#"{"user":{"id":"42","username":"ann"}}"#; 100].join(","));
    let many: &'static [Reply] = vec![SERVERS, Reply::Says(200, "", many.leak())].leak();
    assert!(find(many, "@ann").await.0.unwrap_err().starts_with("too many names begin like @ann"));
}

#[tokio::test]
async fn a_person_is_written_to_in_their_own_conversation() {
    const OPENED: Reply = Reply::Says(200, "", r#"{"id":"900","type":1}"#);
    let mock = Mock::start(&[OPENED, SENT, SENT]);
    let one = discord(mock.port, Secret::from(TOKEN));
    let part = part("Hello");
    let request = one.composed(&OutgoingPart { address: "@99", ..outgoing(&part) });
    one.delivered(&request, &key()).await.unwrap();
    one.delivered(&request, &key()).await.unwrap();
    let heard = mock.heard();
    is(&heard[0], "POST /api/v10/users/@me/channels");
    assert_eq!(body(&heard[0]), json!({"recipient_id": "99"}));
    is(&heard[1], "POST /api/v10/channels/900/messages");
    is(&heard[2], "POST /api/v10/channels/900/messages");
    for (script, kind) in [
        (&[Reply::Close] as &'static [Reply], "Retry"),
        (
            &[Reply::Says(400, "", r#"{"message":"Cannot send messages to this user","code":50007}"#)],
            "Permanent",
        ),
    ] {
        let mock = Mock::start(script);
        let failure = discord(mock.port, Secret::from(TOKEN)).delivered(&request, &key()).await.unwrap_err();
        assert!(why(&failure).starts_with(kind), "{failure:?}");
    }
}

#[tokio::test]
async fn a_conversation_has_one_address_and_the_allowlist_sees_it() {
    const THREAD: Reply = Reply::Says(
        200,
        "",
        r#"{"id":"42","type":11,"guild_id":"77","parent_id":"43","thread_metadata":{}}"#,
    );
    const PERSON: Reply = Reply::Says(200, "", r#"{"id":"42","type":1}"#);
    let part = part("Hello");
    for (script, words) in [
        (&[THREAD, SENT] as &'static [Reply], "send to discord:43 with threadId 42"),
        (&[PERSON, SENT], "send to discord:@"),
    ] {
        let mock = Mock::start(script);
        let one = new(mock.port, Secret::from(TOKEN));
        let failure = one.delivered(&one.composed(&outgoing(&part)), &key()).await.unwrap_err();
        assert!(matches!(&failure, Failure::Permanent(why) if why.contains(words)), "{failure:?}");
        assert_eq!(mock.heard().len(), 1);
    }
    // A channel is asked about once.
    let mock = Mock::start(&[CHANNEL, SENT, SENT]);
    let one = new(mock.port, Secret::from(TOKEN));
    let request = one.composed(&outgoing(&part));
    one.delivered(&request, &key()).await.unwrap();
    one.delivered(&request, &key()).await.unwrap();
    let gets = mock.heard().iter().filter(|builder| builder.starts_with("GET")).count();
    assert_eq!(gets, 1);
}

#[tokio::test]
async fn that_somebody_writes_is_shown_where_the_answer_will_be() {
    let mock = Mock::start(&[DONE]);
    let one = discord(mock.port, Secret::from(TOKEN));
    let here = Target { channel: "discord".into(), address: "42".into(), thread: None };
    one.show_typing(&here).await;
    is(&mock.heard()[0], "POST /api/v10/channels/42/typing");
    assert_eq!(one.typing_lasts(), Some(Duration::from_secs(10)));
    // It is worth no question again, and no error.
    one.show_typing(&Target { address: "no id".into(), ..here }).await;
}
