//! What a caller does with a crate that openapi-generator made: sends, waits for the end, lists.
//!
//! `client HUB TOKEN` writes a line of JSON: the state that the message ended in, and the ids that are listed.

use gatepost_client::{
    apis::{configuration::Configuration, messages_api},
    models::{Answer, Message},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut hub = Configuration::new();
    hub.base_path = arguments.next().ok_or("HUB")?;
    hub.bearer_access_token = arguments.next();
    // No proxy between two programs on one machine.
    hub.client = reqwest::blocking::Client::builder().no_proxy().build()?;

    let text = |to: &str| {
        let (to, message) = (Some(to.to_owned()), Some("From **Rust**.".to_owned()));
        Message { to, message, ..Message::default() }
    };
    let Answer::Receipt(sent) = messages_api::messages_submit(&hub, text("local:team"), None, None)? else {
        return Err("the answer is no receipt".into());
    };
    let ended = messages_api::messages_show(&hub, &sent.id, Some(30))?;
    let refused = messages_api::messages_submit(&hub, text("local:nobody"), None, None);
    if !matches!(&refused, Err(gatepost_client::apis::Error::ResponseError(answer)) if answer.status == 400) {
        return Err(format!("{refused:?}").into());
    }
    let listed = messages_api::messages_list(&hub, None, Some(10), None, None, None, None)?;
    let listed: Vec<String> = listed.messages.into_iter().map(|one| one.id).collect();
    println!("{}", serde_json::json!({"id": sent.id, "state": ended.state, "listed": listed}));
    Ok(())
}
