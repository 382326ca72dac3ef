//! What a listener is given of the hub.

use futures_util::FutureExt as _;

use super::*;
use crate::receiving::account::AccountHandle;

#[tokio::test]
async fn a_reload_that_changes_nothing_ends_the_rest_of_who_listens() {
    let (directory, one, two) = platforms();
    let fixture = Fixture::open(directory.path(), &one, &two).await;
    let current = Current::new(fixture.pipeline.clone());
    let hub = AccountHandle::of(&current, "one", "home");
    let mut rest = hub.rest(Duration::from_hours(1));
    assert!((&mut rest).now_or_never().is_none(), "nobody has reloaded");
    current.replace(fixture.pipeline.clone());
    tokio::time::timeout(PATIENCE, rest).await.expect("it tries again");
    // It rests anew.
    tokio::time::timeout(PATIENCE, hub.rest(Duration::from_millis(1))).await.expect("as long as it has to");
    fixture.close().await;
}
