//! The broker that hubs bring along, for tests of what meets it.

use std::{collections::HashMap, net::TcpListener, time::Duration};

use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};
use tokio::{net::TcpStream, time::sleep};

/// A port of loopback that nobody has.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts one that knows `hub` by `secret` and `companion` by `word`; the port where it listens. It ends with the test's
/// process.
pub(crate) async fn broker() -> u16 {
    let port = free_port();
    let server = ServerSettings {
        name: "test".into(),
        listen: ([127, 0, 0, 1], port).into(),
        tls: None,
        next_connection_delay_ms: 1,
        connections: ConnectionSettings {
            connection_timeout_ms: 5_000,
            max_payload_size: 20_480,
            max_inflight_count: 100,
            auth: Some(HashMap::from([("hub".into(), "secret".into()), ("companion".into(), "word".into())])),
            external_auth: None,
            dynamic_filters: true,
        },
    };
    let config = Config {
        router: RouterConfig {
            max_connections: 10,
            max_outgoing_packet_count: 200,
            max_segment_size: 1 << 20,
            max_segment_count: 10,
            ..RouterConfig::default()
        },
        v4: Some(HashMap::from([("test".into(), server)])),
        ..Config::default()
    };
    std::thread::spawn(move || Broker::new(config).start().unwrap());
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    port
}
