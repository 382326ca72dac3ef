//! One connection to the broker, and the task that works its socket.

use std::time::Duration;

use gatepost_link::envelope::MAX_FRAME;
use rumqttc::{AsyncClient, Event, EventLoop, Packet};
use tokio::{sync::mpsc, task::AbortHandle};

use crate::{
    approval::presence::Presence,
    companion::{broker::Address, tls},
};

/// MQTT's keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Packets that may be on their way from or to the broker; more for each companion.
const MAX_IN_FLIGHT: usize = 64;
/// The largest MQTT packet: a frame, its topic, and room to see what is too large instead of breaking off.
const MAX_PACKET_BYTES: usize = 4 * MAX_FRAME;

/// One connection; dropping it closes the socket.
pub(super) struct Connection {
    pub(super) client: AsyncClient,
    /// Ends when the connection does.
    pub(super) packets: mpsc::Receiver<Packet>,
    pump: AbortHandle,
}

impl Connection {
    /// Connects by this name, for so many companions; why it ends is said to `presence`.
    pub(super) fn open(broker: &Address, name: String, companions: usize, presence: Presence) -> Self {
        let mut options = broker.options(name);
        options.set_keep_alive(KEEP_ALIVE);
        options.set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES);
        let (client, events) = AsyncClient::new(options, MAX_IN_FLIGHT + 16 * companions);
        let (sender, packets) = mpsc::channel(MAX_IN_FLIGHT);
        let pump = tokio::spawn(pump(events, sender, broker.clone(), presence)).abort_handle();
        Self { client, packets, pump }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// Works the socket until it breaks. On a task of its own: what the hub does meanwhile must not interrupt it.
async fn pump(mut events: EventLoop, packets: mpsc::Sender<Packet>, broker: Address, presence: Presence) {
    loop {
        match events.poll().await {
            Ok(Event::Incoming(packet)) => {
                if packets.send(packet).await.is_err() {
                    return;
                }
            }
            Ok(Event::Outgoing(_)) => {}
            Err(error) => return presence.broker_is(Some(tls::explain(&error, broker.peer()))),
        }
    }
}
