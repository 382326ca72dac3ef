//! One connection to a broker that somebody runs, and the task that works its socket.

use std::time::Duration;

use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet};
use tokio::{sync::mpsc, task::AbortHandle};

use super::{broker::Address, tls};

/// MQTT's keep-alive.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Packets from the broker that wait to be looked at.
const MAX_UNREAD: usize = 64;

/// One connection; dropping it closes the socket.
pub(crate) struct Connection {
    pub(crate) client: AsyncClient,
    /// Ends when the connection does. What only acknowledges is not among them.
    pub(crate) packets: mpsc::Receiver<Packet>,
    pump: AbortHandle,
}

impl Connection {
    /// Connects with these options of [`Address::options`], with room for so many packets to the broker; why it ends is said to
    /// `ended`.
    pub(crate) fn open(
        broker: &Address,
        mut options: MqttOptions,
        in_flight: usize,
        ended: Box<dyn FnOnce(String) + Send>,
    ) -> Self {
        options.set_keep_alive(KEEP_ALIVE);
        let (client, events) = AsyncClient::new(options, in_flight);
        let (sender, packets) = mpsc::channel(MAX_UNREAD);
        let pump = tokio::spawn(pump(events, sender, broker.clone(), ended)).abort_handle();
        Self { client, packets, pump }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// Works the socket until it breaks. On a task of its own: what the hub does meanwhile must not interrupt it.
async fn pump(
    mut events: EventLoop,
    packets: mpsc::Sender<Packet>,
    broker: Address,
    ended: Box<dyn FnOnce(String) + Send>,
) {
    loop {
        match events.poll().await {
            Ok(Event::Incoming(packet @ (Packet::ConnAck(_) | Packet::SubAck(_) | Packet::Publish(_)))) => {
                if packets.send(packet).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => return ended(tls::explain(&error, broker.peer())),
        }
    }
}
