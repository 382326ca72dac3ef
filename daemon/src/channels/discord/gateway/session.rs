//! One connection to the Gateway, from its first word to its end.
//!
//! Discord says hello; then somebody must say at every beat of its clock that they are still there, and hear that they were
//! heard: who is not is on a dead line, and hangs up. A session is begun or resumed, and what it is numbered by is kept for the
//! next connection.

use std::convert::Infallible;

use tokio::{
    sync::mpsc,
    time::{Duration, Instant, sleep_until, timeout},
};

use super::{
    handle::{Gateway, NOT_UP, Order, Standing},
    interactions::Interaction,
    payload::{self, Closed, Event, Session, closed, op},
    rate_limiter::RateLimiter,
    socket::{COMING_BACK, Heard, LEAVING, Socket},
    told::{Ear, TOO_LONG, Told},
};
use crate::channels::{
    Failure,
    discord::{client::Client, presence::Presence},
    kit::pause::chance,
};

/// How long Discord may take to say hello.
const HELLO: Duration = Duration::from_secs(20);

/// Within which a clock's beat is believed. Discord's is 41 s.
const SLOWEST: Duration = Duration::from_mins(5);
const FASTEST: Duration = Duration::from_millis(200);

/// So often a session is resumed without anything new before another one begins: with the pauses between, some minutes.
const FRUITLESS: u32 = 8;

/// How a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The session may go on over another one.
    Broken(String),
    /// Another session must begin.
    Over(String),
    /// Not before this time.
    Wait(String, Duration),
    /// Not as things are, such as with this token. It is looked at again by and by.
    Refused(String),
    /// Not at all.
    Final(String),
    /// It was ended by the hub, which stops.
    Left,
}

/// What goes on from one connection to the next.
pub(super) struct Line<'a> {
    gateway: &'a Gateway,
    client: &'a Client,
    orders: mpsc::Receiver<Order>,
    /// Where presses and filled-in forms go.
    pressed: mpsc::Sender<Interaction>,
    /// The status that was set last, which a new session begins with.
    presence: Option<Presence>,
    /// Nothing was heard since it was set: with a connection that was broken already it may be lost.
    unsure: bool,
    session: Option<Session>,
    /// Who receives.
    ear: Option<Ear>,
    /// Whether anything new was heard over this connection, and how many before it brought nothing.
    news: bool,
    fruitless: u32,
    /// The bot's id.
    bot: String,
    limiter: RateLimiter,
}

/// The clock of a connection.
struct Beat {
    every: Duration,
    next: Instant,
    /// Whether the last one was heard.
    heard: bool,
    /// Whether, since it, nothing was read for a while, and so no answer to it.
    deaf: bool,
}

impl<'a> Line<'a> {
    pub(super) fn new(
        gateway: &'a Gateway,
        client: &'a Client,
        orders: mpsc::Receiver<Order>,
        pressed: mpsc::Sender<Interaction>,
        presence: Option<Presence>,
        mut ear: Option<Ear>,
    ) -> Self {
        let (session, bot) = ear.as_mut().and_then(|ear| ear.before.take()).unzip();
        Self {
            gateway,
            client,
            orders,
            pressed,
            presence,
            unsure: false,
            session,
            ear,
            news: false,
            fruitless: 0,
            bot: bot.unwrap_or_default(),
            limiter: RateLimiter::default(),
        }
    }

    /// What may be resumed.
    pub(super) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Whether somebody receives.
    pub(super) fn receives(&self) -> bool {
        self.ear.is_some()
    }

    /// Whether the session was resumed so often without anything new that another one shall begin: what comes next in it may be
    /// what cannot be read. To be asked once after each connection.
    pub(super) fn leads_nowhere(&mut self) -> bool {
        self.fruitless = if std::mem::take(&mut self.news) { 0 } else { self.fruitless + 1 };
        self.fruitless >= FRUITLESS
    }

    /// The next session is a new one.
    pub(super) fn forget(&mut self) {
        (self.session, self.fruitless) = (None, 0);
    }

    /// Nobody will be served any more.
    pub(super) async fn refuse(&mut self) {
        self.orders.close();
        while self.orders.recv().await.is_some() {}
    }

    /// Holds a connection for as long as it lasts.
    pub(super) async fn converse(&mut self, mut socket: Socket) -> End {
        // As long as this is there, whoever leaves waits.
        let mut leaving = self.gateway.leaving.subscribe();
        let end = tokio::select! {
            end = self.greeted(&mut socket) => end,
            _ = leaving.wait_for(|&leaving| leaving) => End::Left,
        };
        // Who receives goes on in the session at the next start.
        let ends = end == End::Left && !self.receives();
        socket.close(if ends { LEAVING } else { COMING_BACK }).await;
        end
    }

    async fn greeted(&mut self, socket: &mut Socket) -> End {
        match timeout(HELLO, socket.hear()).await {
            Ok(Heard::Event(hello)) if hello.op == op::HELLO => {
                let Err(end) = self.hold(socket, &hello).await;
                end
            }
            Ok(Heard::Event(_)) => End::Broken("Discord's Gateway does not say hello".into()),
            Ok(Heard::Closed(closed)) => self.closed(closed),
            Ok(Heard::TooLong) => self.pass_over(),
            Ok(Heard::Broken(why)) => End::Broken(self.client.http.words(&why)),
            Err(_) => End::Broken("Discord's Gateway says nothing".into()),
        }
    }

    async fn hold(&mut self, socket: &mut Socket, hello: &Event) -> Result<Infallible, End> {
        let every = hello.d["heartbeat_interval"].as_u64().map(Duration::from_millis).unwrap_or(SLOWEST);
        let mut beat = Beat::of(every.clamp(FASTEST, SLOWEST));
        let token = self.client.http.token();
        let first = match &self.session {
            Some(session) => payload::resume(&token, session),
            None => payload::identify(&token, self.presence.as_ref(), self.gateway.intents),
        };
        self.send(socket, &first).await?;
        loop {
            let told = self.ear.as_ref().map(|ear| ear.told.clone());
            let full = told.filter(|told| told.capacity() == 0 && !told.is_closed());
            beat.deaf |= full.is_some();
            tokio::select! {
                heard = socket.hear(), if full.is_none() => self.take(socket, heard, &mut beat).await?,
                // What was told is being written down.
                Some(_) = async { full.as_ref()?.reserve().await.ok() }, if full.is_some() => {}
                () = sleep_until(beat.next) => {
                    // <https://docs.discord.com/developers/events/gateway#sending-heartbeats>.
                    if !beat.heard && !beat.deaf {
                        return Err(End::Broken("Discord's Gateway does not answer any more".into()));
                    }
                    (beat.heard, beat.deaf) = (false, false);
                    beat.next = Instant::now() + beat.every;
                    self.heartbeat(socket).await?;
                }
                Some(order) = self.orders.recv() => self.obey(socket, order).await?,
            }
        }
    }

    /// What is heard, and what follows.
    async fn take(&mut self, socket: &mut Socket, heard: Heard, beat: &mut Beat) -> Result<(), End> {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Closed(closed) => return Err(self.closed(closed)),
            Heard::TooLong => return Err(self.pass_over()),
            Heard::Broken(why) => return Err(End::Broken(self.client.http.words(&why))),
        };
        match event.op {
            op::DISPATCH => {
                let resumed = event.t.as_deref() == Some("RESUMED");
                self.dispatched(event);
                if resumed && let Some(presence) = self.presence.as_ref().filter(|_| self.unsure) {
                    let again = payload::show(presence);
                    self.send(socket, &again).await?;
                }
            }
            op::HEARTBEAT if self.limiter.has_room(Instant::now().into_std()) => {
                self.heartbeat(socket).await?
            }
            op::HEARTBEAT_ACK => {
                (beat.heard, self.unsure) = (true, false);
            }
            op::RECONNECT => return Err(End::Broken("Discord asks to connect anew".into())),
            op::INVALID_SESSION if event.d == true => {
                return Err(End::Broken("Discord asks to resume the session".into()));
            }
            op::INVALID_SESSION => return Err(End::Over("Discord calls the session invalid".into())),
            _ => {}
        }
        match socket.is_swollen() {
            true => Err(End::Broken("it is made anew after a long event, for the memory".into())),
            false => Ok(()),
        }
    }

    /// Goes on behind an event that is too long: resumed before it, the session would tell it again each time. Dispatches are numbered
    /// one after the other, and whatever else it was, Discord knows no such number and has another session begun.
    fn pass_over(&mut self) -> End {
        if let Some(session) = &mut self.session {
            let s = Some(session.seq + 1);
            self.dispatched(Event {
                op: op::DISPATCH,
                d: serde_json::Value::Null,
                s,
                t: Some(TOO_LONG.into()),
            });
        }
        End::Broken("Discord's Gateway tells more at once than is read".into())
    }

    fn dispatched(&mut self, Event { d, s, t, .. }: Event) {
        self.news = true;
        if let (Some(session), Some(seq)) = (&mut self.session, s) {
            session.seq = seq;
        }
        match t.as_deref() {
            // <https://docs.discord.com/developers/events/gateway-events#ready>.
            Some("READY") => {
                let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
                let session = text(&d["session_id"]).zip(text(&d["resume_gateway_url"]));
                self.session = session.map(|(id, url)| Session { id, url, seq: s.unwrap_or(0) });
                self.bot = d["user"]["id"].as_str().unwrap_or("self").chars().take(40).collect();
                self.up();
            }
            Some("RESUMED") => self.up(),
            // <https://docs.discord.com/developers/events/gateway-events#interaction-create>; it takes no intent.
            Some("INTERACTION_CREATE") => {
                if let Some(interaction) = Interaction::read(&d)
                    && self.pressed.try_send(interaction).is_err()
                {
                    tracing::warn!(account = self.gateway.account, "too many forms at once; one is left out");
                }
            }
            _ => {}
        }
        if let (Some(ear), Some(session), Some(name)) = (&self.ear, &self.session, t) {
            let (session, bot) = (session.clone(), self.bot.clone());
            // There is room, or nothing would have been read.
            let _ = ear.told.try_send(Told { name, data: d, session, bot });
        }
    }

    fn up(&self) {
        tracing::info!(account = self.gateway.account, "the connection to Discord's Gateway is open");
        self.gateway.stands(Standing::Up(self.bot.clone()));
    }

    /// Changes the bot's status, unless nobody waits for it any more.
    async fn obey(&mut self, socket: &mut Socket, Order { presence, done }: Order) -> Result<(), End> {
        if done.is_closed() {
            return Ok(());
        }
        // Nobody who has given up meanwhile needs an answer.
        if !matches!(&*self.gateway.standing.borrow(), Standing::Up(_)) {
            let _ = done.send(Err(Failure::Retry(NOT_UP.into())));
            return Ok(());
        }
        if let Err(after) = self.limiter.change(Instant::now().into_std()) {
            let why = "Discord lets a bot change its status five times within 20 seconds".into();
            let _ = done.send(Err(Failure::Wait { after, why }));
            return Ok(());
        }
        let sent = self.send(socket, &payload::show(&presence)).await;
        let answer = match &sent {
            Ok(()) => Ok(()),
            Err(_) => Err(Failure::Retry("the connection to Discord's Gateway broke".into())),
        };
        if sent.is_ok() {
            (self.presence, self.unsure) = (Some(presence), true);
        }
        let _ = done.send(answer);
        sent
    }

    async fn heartbeat(&mut self, socket: &mut Socket) -> Result<(), End> {
        let heard = self.session.as_ref().map(|session| session.seq);
        // It is the one acknowledgement that there is: nothing is acknowledged before it is written down.
        let seq = match &self.ear {
            Some(ear) => heard.map(|heard| heard.min(ear.written.seq())).filter(|seq| *seq > 0),
            None => heard,
        };
        self.send(socket, &payload::heartbeat(seq)).await
    }

    async fn send(&mut self, socket: &mut Socket, event: &serde_json::Value) -> Result<(), End> {
        self.limiter.sent(Instant::now().into_std());
        socket.send(event).await.map_err(|why| End::Broken(self.client.http.words(&why)))
    }

    /// What a closed connection means.
    fn closed(&self, closed_with: Option<(u16, String)>) -> End {
        let Some((code, said)) = closed_with else {
            return End::Broken("Discord's Gateway hung up".into());
        };
        let said = self.client.http.words(&format!("Discord's Gateway closed with {code}: {said}"));
        match closed(code) {
            Closed::Resumable => End::Broken(said),
            Closed::Over => End::Over(said),
            Closed::Token => {
                End::Refused(format!("bot token rejected ({said}); replace the token, which is read again"))
            }
            Closed::Final(why) => End::Final(format!("{why} ({said})")),
        }
    }
}

impl Beat {
    /// The first comes at any time within its length.
    fn of(every: Duration) -> Self {
        Self { every, next: Instant::now() + every.mul_f64(chance()), heard: true, deaf: false }
    }
}
