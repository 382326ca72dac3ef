//! One connection to the embedded broker, from its first byte to its end.
//!
//! A connection costs a bounded amount, whoever it is of: a packet of a frame's size, what waits to be written to it, and a share
//! of what waits for the hub. One that has used its share up, or speaks too fast, is not read from until there is room.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use gatepost_link::{envelope::MAX_FRAME, topic::MAX_TOPIC};
use rumqttc::mqttbytes::{
    QoS,
    v4::{
        ConnAck, Connect, ConnectReturnCode, Packet, PubAck, Publish, SubAck, Subscribe, SubscribeReasonCode,
        UnsubAck,
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, Semaphore, mpsc},
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    access::Access,
    packets::{NoPacket, Packets},
    router::{Crowded, Entry, Message, Out, Place, Router, SHARE},
};
use crate::{
    companion::logins::{Login, Logins},
    connections::{load::Load, pending::Ticket},
    rate_limit::bucket::{Bucket, Rate},
};

/// CONNECT must be there within this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest CONNECT: with a login and a last will it has some 300 bytes.
const MAX_CONNECT_BYTES: usize = 512;
/// The longest packet: a frame, its topic, and their two numbers.
const MAX_PACKET_BYTES: usize = MAX_FRAME + MAX_TOPIC + 4;
/// What a client may ask for as its keep-alive; one that asks for none has this.
const MAX_KEEP_ALIVE: Duration = Duration::from_secs(300);
/// A client that does not read for this long is cut off.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// A device without a login must say what it goes by within this.
const BEGIN: Duration = Duration::from_secs(10);
/// How long a connection may stay whose login is not valid any more: what it is told last is on its way.
const LEAVE: Duration = Duration::from_secs(2);
/// Packets a second and at once: a companion says some ten a second while it fetches a document.
const DEVICE: Rate = Rate { burst: 200, every: Duration::from_millis(10) };
/// The same for one that is being paired, which says a handful.
const STRANGER: Rate = Rate { burst: 30, every: Duration::from_millis(100) };
/// What is written at once, in bytes, and a packet more.
const AT_ONCE: usize = 8 * 1024;

/// What connections share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) logins: Logins,
    pub(super) router: Router,
    pub(super) load: Load,
}

/// Why a connection ends that is none of the client's doing.
type Reason = &'static str;

impl From<NoPacket> for Option<Reason> {
    fn from(none: NoPacket) -> Self {
        match none {
            NoPacket::Closed => None,
            NoPacket::TooLarge => Some("packet_size"),
            NoPacket::Malformed => Some("not_mqtt"),
        }
    }
}

/// Serves a connection until it ends.
pub(super) async fn serve(mut stream: TcpStream, (ticket, must_go): (Ticket, &Notify), shared: Shared) {
    let peer = stream.peer_addr().map(|peer| peer.ip().to_string()).unwrap_or_default();
    let mut packets = Packets::new(MAX_CONNECT_BYTES);
    let first = tokio::select! {
        // Counted when its successor came.
        () = must_go.notified() => return,
        first = timeout(CONNECT_TIMEOUT, packets.first(&mut stream)) => first,
    };
    let connect = match first {
        Ok(Ok(Packet::Connect(connect))) => connect,
        Ok(Ok(_)) => return shared.load.note("not_mqtt", &peer),
        Ok(Err(none)) => {
            if let Some(reason) = none.into() {
                shared.load.note(reason, &peer);
            }
            return;
        }
        Err(_) => return shared.load.note("connect_time_out", &peer),
    };
    let client = match Client::admit(&shared, connect) {
        Ok(client) => client,
        Err((reason, code)) => {
            shared.load.note(reason, &peer);
            let mut refusal = BytesMut::new();
            if ConnAck::new(code, false).write(&mut refusal).is_ok() {
                // It may have gone.
                let _ = timeout(WRITE_TIMEOUT, stream.write_all(&refusal)).await;
            }
            return;
        }
    };
    drop(ticket);
    packets.bound(MAX_PACKET_BYTES);
    let (mut reader, mut writer) = stream.split();
    let Client { place, receiver, login, patience } = client;
    let session = Session { place: &place, login: &login, patience, shared: &shared };
    let ended = tokio::select! {
        ended = session.read(&mut packets, &mut reader) => ended,
        () = write(&mut writer, receiver) => Some("not_reading"),
        () = place.is_cut() => Some("replaced"),
        ended = session.must_leave() => Some(ended),
    };
    if let Some(reason) = ended {
        shared.load.note(reason, &format!("{peer}, {}", login.user));
    }
}

/// Somebody who was let in.
struct Client {
    place: Place,
    receiver: mpsc::Receiver<Out>,
    login: Login,
    patience: Duration,
}

impl Client {
    fn admit(shared: &Shared, connect: Connect) -> Result<Self, (Reason, ConnectReturnCode)> {
        let (user, password) = connect.login.map(|it| (it.username, it.password)).unwrap_or_default();
        let login =
            shared.logins.admit(&user, &password).ok_or(("login", ConnectReturnCode::NotAuthorized))?;
        let will = connect.last_will.map(|will| (will.topic, will.message.to_vec()));
        if will.as_ref().is_some_and(|(topic, payload)| !login.access.wills(topic, payload)) {
            return Err(("topic", ConnectReturnCode::NotAuthorized));
        }
        let entry = Entry { user, client: connect.client_id, access: login.access.clone(), will };
        let (place, receiver) = shared.router.enter(entry).map_err(|crowded| {
            let reason = match crowded {
                Crowded::Broker => "connections",
                Crowded::Strangers => "strangers",
            };
            (reason, ConnectReturnCode::ServiceUnavailable)
        })?;
        let welcome = Out::Answer(Packet::ConnAck(ConnAck::new(ConnectReturnCode::Success, false)));
        // There is room: it is the first.
        let _ = place.out.try_send(welcome);
        let keep_alive = match connect.keep_alive {
            0 => MAX_KEEP_ALIVE,
            seconds => Duration::from_secs(seconds.into()).min(MAX_KEEP_ALIVE),
        };
        // Half as much again (MQTT 3.1.1, 3.1.2.10).
        Ok(Self { place, receiver, login, patience: keep_alive * 3 / 2 })
    }
}

struct Session<'a> {
    place: &'a Place,
    login: &'a Login,
    patience: Duration,
    shared: &'a Shared,
}

impl Session<'_> {
    /// Reads until the connection ends; why, if it is ended from this side.
    async fn read(&self, packets: &mut Packets, from: &mut (impl AsyncRead + Unpin)) -> Option<Reason> {
        let share = Arc::new(Semaphore::new(SHARE));
        let mut limiter = match self.login.access {
            Access::Everything => None,
            Access::Device(_) => Some(DEVICE),
            Access::Stranger => Some(STRANGER),
        }
        .map(|rate| (rate, Bucket::full(std::time::Instant::now())));
        loop {
            // For all of a packet: one that comes by the byte is no sign of life.
            let packet = match timeout_at(Instant::now() + self.patience, packets.next(from)).await {
                Ok(Ok(packet)) => packet,
                Ok(Err(none)) => return none.into(),
                Err(_) => return Some("keep_alive"),
            };
            match packet {
                Packet::Publish(publish) => {
                    if let Err(reason) = self.published(publish, &share).await {
                        return Some(reason);
                    }
                }
                Packet::Subscribe(subscribe) => self.subscribed(subscribe).await,
                Packet::Unsubscribe(unsubscribe) => {
                    unsubscribe.topics.iter().for_each(|path| self.place.ignore(path));
                    self.answer(Packet::UnsubAck(UnsubAck::new(unsubscribe.pkid))).await;
                }
                Packet::PingReq => self.answer(Packet::PingResp).await,
                // Nothing is sent again within a connection, and nothing is kept beyond it.
                Packet::PubAck(_) => {}
                Packet::Disconnect => {
                    self.place.goes_in_order();
                    return None;
                }
                _ => return Some("packet_type"),
            }
            if let Some(pause) =
                limiter.as_mut().map(|(rate, bucket)| bucket.spend(*rate, std::time::Instant::now()))
                && !pause.is_zero()
            {
                self.shared.load.note("pace", &self.login.user);
                sleep(pause).await;
            }
        }
    }

    async fn published(&self, publish: Publish, share: &Arc<Semaphore>) -> Result<(), Reason> {
        let Publish { qos, retain, topic, pkid, payload, .. } = publish;
        if qos == QoS::ExactlyOnce {
            return Err("qos_2");
        }
        if payload.len() > MAX_FRAME {
            return Err("packet_size");
        }
        if retain {
            // It goes to who listens, and is not kept.
            self.shared.load.note("retained", &self.login.user);
        }
        // Who must leave is not heard any more, and may still hear.
        if self.shared.logins.stands(self.login) {
            if !self.place.may_say(&topic) {
                return Err("topic");
            }
            let share = match self.login.access {
                Access::Everything => None,
                _ => Arc::clone(share).acquire_owned().await.ok(),
            };
            let acknowledged = qos == QoS::AtLeastOnce;
            // Copied: a part of what was read would keep all of it.
            let payload = Bytes::copy_from_slice(&payload);
            self.place.say(Message { topic, payload, acknowledged, _share: share });
        }
        if qos == QoS::AtLeastOnce {
            self.answer(Packet::PubAck(PubAck::new(pkid))).await;
        }
        Ok(())
    }

    async fn subscribed(&self, subscribe: Subscribe) {
        let codes = subscribe.filters.into_iter().map(|filter| {
            // What is more is granted as less (MQTT 3.1.1, 3.8.4).
            let acknowledged = filter.qos != QoS::AtMostOnce;
            if self.place.listen(&filter.path, acknowledged) {
                let qos = if acknowledged { QoS::AtLeastOnce } else { QoS::AtMostOnce };
                SubscribeReasonCode::Success(qos)
            } else {
                self.shared.load.note("topic", &self.login.user);
                SubscribeReasonCode::Failure
            }
        });
        let codes = codes.collect();
        self.answer(Packet::SubAck(SubAck::new(subscribe.pkid, codes))).await;
    }

    /// Waits until there is room: who does not read its answers is not read from either.
    async fn answer(&self, packet: Packet) {
        // The other end is gone only when the connection is.
        let _ = self.place.out.send(Out::Answer(packet)).await;
    }

    /// Returns when it may stay no longer, and why.
    async fn must_leave(&self) -> Reason {
        let mut changes = self.shared.logins.changes();
        let begin = async {
            match self.login.access {
                Access::Stranger => sleep(BEGIN).await,
                _ => std::future::pending().await,
            }
            match self.place.has_attempt() {
                true => std::future::pending().await,
                false => "silent",
            }
        };
        let invalid = async {
            while self.shared.logins.stands(self.login) && changes.changed().await.is_ok() {}
            sleep(LEAVE).await;
            "login_over"
        };
        tokio::select! {
            reason = begin => reason,
            reason = invalid => reason,
        }
    }
}

/// Writes what waits until nothing more comes or the client does not read it.
async fn write(to: &mut (impl AsyncWrite + Unpin), mut waiting: mpsc::Receiver<Out>) {
    let (mut buffer, mut number) = (BytesMut::new(), 0);
    while let Some(out) = waiting.recv().await {
        put(&mut buffer, &mut number, out);
        while buffer.len() < AT_ONCE
            && let Ok(out) = waiting.try_recv()
        {
            put(&mut buffer, &mut number, out);
        }
        match timeout(WRITE_TIMEOUT, to.write_all(&buffer)).await {
            Ok(Ok(())) => buffer.clear(),
            // The reader hears of a connection that is gone.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => return,
        }
    }
    // The router has let go of it, which it says by itself.
    std::future::pending().await
}

fn put(buffer: &mut BytesMut, number: &mut u16, out: Out) {
    let packet = match out {
        Out::Answer(packet) => packet,
        Out::Message(message, acknowledged) => {
            let acknowledged = acknowledged && message.acknowledged;
            let qos = if acknowledged { QoS::AtLeastOnce } else { QoS::AtMostOnce };
            let mut publish = Publish::from_bytes(message.topic.clone(), qos, message.payload.clone());
            if acknowledged {
                *number = number.checked_add(1).unwrap_or(1);
                publish.pkid = *number;
            }
            Packet::Publish(publish)
        }
    };
    if let Err(error) = packet.write(buffer, usize::MAX) {
        tracing::error!(%error, "a packet of the broker's own cannot be written");
    }
}
