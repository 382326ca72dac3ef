//! From nothing to ready: a hub with a long queue against one with an empty queue.

use std::{
    error::Error,
    net::TcpListener,
    path::Path,
    time::{Duration, Instant},
};

use gatepost::{
    config::Config,
    hub::{Extras, Hub},
    store::{Store, StoreError},
};

use crate::verdict;

/// The design's budget, for [`ROWS`] messages.
pub(crate) const BUDGET: Duration = Duration::from_millis(100);
const ROWS: u32 = 100_000;
const SAMPLES: usize = 9;

/// Prints the median time from nothing to ready with a hundred thousand messages that are due in an hour, and with none.
pub(crate) fn with_a_long_queue() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let (empty, long) = (tempfile::tempdir()?, tempfile::tempdir()?);
    fill(long.path(), ROWS)?;
    let mut times = [vec![], vec![]];
    for _ in 0..SAMPLES {
        for (times, directory) in times.iter_mut().zip([&empty, &long]) {
            times.push(runtime.block_on(start(directory.path()))?);
        }
    }
    let [without, with] = times.map(|mut times| {
        times.sort_unstable();
        times[SAMPLES / 2]
    });
    println!(
        "start to ready: {with:.1?} with {ROWS} messages in the queue, {without:.1?} with none; budget {BUDGET:?}: {}",
        verdict(with <= BUDGET)
    );
    Ok(())
}

async fn start(directory: &Path) -> Result<Duration, Box<dyn Error>> {
    let mut config = Config::default();
    config.hub.data_dir = directory.into();
    config.hub.listen.set_port(0);
    // A port of its own each time: the embedded broker ends with its process.
    config.broker.listen = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let began = Instant::now();
    let hub = Hub::start(&config, Extras::default()).await?;
    let took = began.elapsed();
    hub.stop().await;
    Ok(took)
}

/// Puts so many messages into the queue in `directory`, over a thousand lanes, due in an hour.
pub(crate) fn fill(directory: &Path, rows: u32) -> Result<(), Box<dyn Error>> {
    let store = Store::open(directory)?;
    let now = gatepost::store::now_ms();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(store.write(move |tx| {
            tx.execute(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                 INSERT INTO messages (id, agent, state, action, channel, account, address, silent, text, fingerprint,
                    accepted_at, deadline, due_at, released)
                 SELECT 'queued' || i, 'a', 'ready', 'send', 'local', 'home', 'p' || (i % 1000), 0, 'Good morning', x'',
                    ?2, ?2 + 86400000, ?2 + 3600000, i FROM n",
                (rows, now),
            )?;
            tx.execute(
                "INSERT INTO parts (message, idx, key, state, shown, wire)
                 SELECT seq, 0, id, 'planned', text, '{}' FROM messages",
                [],
            )?;
            Ok::<_, StoreError>(())
        }))?;
    store.close();
    Ok(())
}
