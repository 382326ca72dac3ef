//! An explicit platform is what it says.

use super::*;

fn with_book(channel: &str, name: &str, target: &str, rules: AgentRules) -> Fixture {
    let fixture = Fixture::with(channel, Arc::new(Platform::default()), rules);
    let meant = crate::message::target::Destination::parse(target, &crate::channels::registry::NAMES);
    let pipeline = fixture.pipeline.0;
    let mut shared = Arc::into_inner(pipeline).unwrap();
    shared.book = AddressBook::new([(name.to_owned(), meant.unwrap())].into());
    Fixture { pipeline: Pipeline::new(shared), ..fixture }
}

#[tokio::test]
async fn a_name_of_the_book_is_no_address_of_another_platform() {
    let fixture = with_book("local", "ann", "telegram:5", rules(&["*"], &[], CrossContext::Allow));
    let looked = fixture.look(&json!({"channel": "local", "to": "ann", "message": "x"})).await.unwrap();
    assert_eq!(looked.to, "local:ann");
    let looked = fixture.look(&json!({"to": "local:ann", "message": "x"})).await.unwrap();
    assert_eq!(looked.to, "local:ann");
    // Without a platform it is the name.
    let refusal = fixture.look(&json!({"to": "ann", "message": "x"})).await.unwrap_err();
    assert!(refusal.error.contains("telegram"), "{refusal}");
}

#[tokio::test]
async fn what_an_agent_may_not_write_to_is_refused_before_anything_is_said_of_accounts() {
    let fixture = Fixture::with(
        "local",
        Arc::new(Platform::default()),
        rules(&["local:ann", "telegram:5"], &[], CrossContext::Allow),
    );
    for target in ["slack:C012AB3CD", "telegram:6", "local:bob"] {
        let refusal = fixture.submit(&json!({"to": target, "message": "x"})).await.unwrap_err();
        assert_eq!(refusal.reason, Some("not_allowed"), "{target}: {refusal}");
        assert!(refusal.error.contains(&format!("target \"{target}\" is not among")), "{refusal}");
    }
    // To who may write there it is said what is missing.
    let refusal = fixture.submit(&json!({"to": "telegram:5", "message": "x"})).await.unwrap_err();
    assert!(refusal.error.contains("no account is set up on channel"), "{refusal}");
    let refusal =
        fixture.submit(&json!({"to": "local:bob", "accountId": "secret", "message": "x"})).await.unwrap_err();
    assert_eq!(refusal.reason, Some("not_allowed"), "{refusal}");
}
