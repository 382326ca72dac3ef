//! How the hub comes to life, in its order: what was left is taken up before anything is dispatched, and nobody is served before
//! there is all that a call may ask for.

use std::{net::SocketAddr, sync::Arc};

use gatepost_link::{decision::PublicKey, seal::SealSecret};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
    task::JoinHandle,
};

use super::{
    Extras, Hub, HubError,
    accounts::Opened,
    agents::{agents, itself},
    heartbeats::heartbeats,
    homeassistant::home_assistant,
    hooks, identity,
    meeting::{Meeting, meet},
    operator, recover,
    reload::{Reload, bounds},
    routing::routing,
    updates,
    upkeep::{self, Plan},
    voice,
    wake::{wakers, worked_for},
    web,
};
use crate::{
    approval::{
        Approvals,
        availability::Paired,
        device::{self, Device},
        registry::{self, DeviceError},
    },
    audit::checkpoint::Signer,
    companion::{
        broker::Broker,
        introduced::Introduced,
        link::{self, Link},
    },
    config::Config,
    connections::{descriptors::Descriptors, load::Load},
    events::Events,
    files::Files,
    heartbeat, homeassistant,
    intake::{
        http::{
            Behind, Endpoint,
            server::{self, Listeners},
        },
        wake::Wakers,
    },
    metrics::Metrics,
    notify,
    outbox::{Outbox, transition::TransitionError},
    people::respelling,
    pipeline::{
        Pipeline, Shared, address_book::AddressBook, current::Current, identities::Identities,
        rate_limiter::RateLimiter,
    },
    settings::secret::Secret,
    store::Store,
    tasks,
    turns::wake::Wake,
    updates::{Updates, hub::asking::Asking},
};

impl Hub {
    /// Starts a hub. When this returns it takes messages.
    pub async fn start(config: &Config, extras: Extras) -> Result<Self, HubError> {
        // First, so that a second hub hears whose directory this is, and not that a port is taken.
        let store = Store::open(&config.hub.data_dir)?;
        let (listener, address) = listen(config.hub.listen, "hub.listen").await?;
        let secured = web::secured(config).await?;
        let outside = match config.hub.platform_listen {
            Some(at) => {
                let (listener, address) = listen(at, "hub.platform_listen").await?;
                tracing::info!(%address, "platforms and programs outside are heard, and nobody else");
                Some(listener)
            }
            None => None,
        };
        let tls = secured.as_ref().map(|secured| secured.tls.clone());
        let Keys { key, signer, secret } = open_keys(&store).await?;
        let seal = secret.public();
        prepare_register(&store, extras.companion).await?;
        store.space().guard();

        let opened = Opened::open(config, &store)?;
        store.write(respelling::respell).await?;
        let pipeline = build_pipeline(config, &store, key, &opened)?;
        take_up(&pipeline, &store).await?;
        pipeline.recall_routes()?;
        pipeline.abandon_turns(worked_for(config)).await?;

        let descriptors = Descriptors::claim();
        let users = &extras.broker_users;
        let current = Current::new(pipeline.clone());
        let updates = updates::open(config, &current).await?;
        let to_meet = (&pipeline, updates.clone());
        let (link, broker) = meet_companions(config, users, descriptors.broker, to_meet, key, secret).await?;
        let (outbox, files) = (pipeline.outbox().clone(), pipeline.files().clone());
        let events = Events::new(pipeline.approvals().clone(), pipeline.0.wake.clone());
        drop(pipeline);
        let (rest, resting) = oneshot::channel();
        let dispatcher = tokio::spawn(current.clone().dispatch(resting));
        let (bringing, brought) = (Wakers::of(&current), wakers(config)?);
        let reload = Reload::new(extras.file.as_deref(), config, opened, &current, &bringing, tls).await;
        let telling = tokio::spawn(current.clone().tell_hooks());
        let turns = tokio::spawn(current.pipeline().keep_turns());
        let tasks = tokio::spawn(tasks::runner::run(current.clone()));
        let notifying = tokio::spawn(notify::runner::run(current.clone()));
        let heart = tokio::spawn(heartbeat::runner::run(current.clone()));
        let cards = tokio::spawn(current.clone().keep_cards());
        let upkeep = tokio::spawn(upkeep::keep_up(outbox, files, signer.clone(), Plan::of(config)));

        let asking = Asking::new(&store);
        let own_update = tokio::spawn(asking.clone().watch());

        let home = homeassistant::runner::Hub {
            key,
            current: current.clone(),
            events: events.clone(),
            companions: link.companions().clone(),
            updates: updates.clone(),
            asking: asking.clone(),
        };
        let home_assistant = tokio::spawn(home.run());

        let port = address.port();
        let authority = secured.as_ref().and_then(|secured| secured.tls.authority());
        let endpoint = endpoint(
            config,
            (port, authority),
            &current,
            &reload,
            &events,
            (&link, updates, asking),
            broker.as_ref(),
        );
        if let Err(error) = store.listens_at(Some(address)) {
            tracing::warn!(%error, "cannot write the hub's address into the lock: commands will say that no hub answers");
        }
        let (server, stop) =
            serve(config, Listeners { own: listener, secured, outside }, endpoint, descriptors.http);
        bringing.follow(brought);
        tracing::info!(%address, "the hub is ready");
        Ok(Self {
            address,
            key,
            seal,
            store,
            current,
            reload,
            events,
            link,
            _broker: broker,
            dispatcher,
            rest,
            server,
            stop,
            upkeep,
            turns,
            tasks,
            heart,
            notifying,
            home_assistant,
            cards,
            own_update,
            telling,
            wakers: bringing,
            signer,
        })
    }
}

/// Listens where this key says.
pub(super) async fn listen(at: SocketAddr, key: &'static str) -> Result<(TcpListener, SocketAddr), HubError> {
    let failed = |error| HubError::Listen(at, error, key);
    let listener = TcpListener::bind(at).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Who the hub is.
struct Keys {
    key: PublicKey,
    /// Signs the audit by that key.
    signer: Signer,
    /// For sealed sessions.
    secret: SealSecret,
}

/// The hub's keys, made at the first start. The audit begins here: nothing happens before it that it would have to tell.
async fn open_keys(store: &Store) -> Result<Keys, HubError> {
    let signing = identity::load_or_create(store.directory())?;
    let (key, signer) = (identity::public(&signing), Signer::new(signing));
    upkeep::begin(store, &signer).await?;
    let secret = identity::sealing(store.directory())?;
    Ok(Keys { key, signer, secret })
}

/// Who may call and decide: the operator, and the companions that still may; with the one that comes with the hub, if one does.
async fn prepare_register(store: &Store, companion: Option<Device>) -> Result<(), HubError> {
    operator::ensure(store).await?;
    registry::withdraw_outdated(store).await?;
    let Some(device) = companion else { return Ok(()) };
    // Its key was another process's, and went with it.
    match registry::revoke(store, &device.name, "hub").await {
        Ok(_) | Err(DeviceError::Missing(_) | DeviceError::Revoked(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(device::register(store, device).await?)
}

/// A companion with these keys and what it keeps of the hub with this database, which does not run: to be registered under a free
/// name like this one. The hub's keys are made if it has never run.
pub async fn introduce(
    store: &Store,
    keys: &gatepost_companion::Keys,
    name: &str,
) -> Result<(Device, gatepost_companion::Bond), HubError> {
    let Keys { key, secret, .. } = open_keys(store).await?;
    let own = Introduced::new(keys, name);
    let name = match registry::vacant(store, own.device.key, Some(name.to_owned())).await {
        Err(DeviceError::Taken(_)) => registry::vacant(store, own.device.key, None).await?,
        name => name?,
    };
    let bond = own.bond(key, secret.public());
    Ok((Device { name, ..own.device }, bond))
}

fn build_pipeline(
    config: &Config,
    store: &Store,
    key: PublicKey,
    opened: &Opened,
) -> Result<Pipeline, HubError> {
    let outbox = Outbox::new(store.clone()).bounded(bounds(config)).deduplicating(config.queue.dedup.0);
    let software = config.approval.allow_software_companion;
    let private = config.checked().private_urls.clone();
    Ok(Pipeline::new(Shared {
        approvals: Approvals::new(outbox.clone(), key, software)
            .by_passkeys(config.approval.takes_passkeys())
            .on(config.approval.terms()),
        outbox,
        files: Files::open(store.clone(), config.files.bounds(), private, voice(config)?)?,
        agents: agents(config, opened.accounts())?,
        accounts: opened.accounts().clone(),
        ttl: config.hub.ttl.0,
        context_ttl: config.contexts.ttl.0,
        hooks: hooks::build(config)?,
        limiter: RateLimiter::default(),
        rates: Arc::default(),
        book: AddressBook::new(config.checked().book.clone()),
        readiness: Arc::default(),
        identities: Arc::new(Identities::new(store.clone())),
        routing: Arc::new(routing(config, opened.accounts())?),
        heartbeats: heartbeats(config, opened.accounts())?,
        itself: itself(config, opened.accounts())?,
        notify: config.checked().notify.clone().map(Arc::new),
        home_assistant: home_assistant(config)?,
        wake: opened.wake().clone(),
        asking: Wake::default(),
        attempts: Arc::default(),
        strangers_files: Arc::default(),
    }))
}

/// Takes up what the last process left.
async fn take_up(pipeline: &Pipeline, store: &Store) -> Result<(), HubError> {
    recover(pipeline).await.map_err(|error| match error {
        TransitionError::Store(error) => HubError::Store(error.explained(store.directory())),
        error => error.into(),
    })
}

/// Starts the link with the companions, and the broker that they meet the hub at, unless somebody runs one. `connections`: as many
/// as the embedded one may have.
async fn meet_companions(
    config: &Config,
    users: &[(String, Secret)],
    connections: usize,
    (pipeline, updates): (&Pipeline, Updates),
    key: PublicKey,
    secret: SealSecret,
) -> Result<(Link, Option<Broker>), HubError> {
    let Meeting { address, embedded } = meet(config, users, connections)?;
    let (broker, logins) = embedded.unzip();
    let approvals = pipeline.approvals();
    let devices = approvals.devices().await?;
    let paired = pipeline.outbox().store().read(Paired::read).await?;
    let approval = &config.approval;
    for warning in
        paired.warnings(approval.allow_software_companion, approval.takes_passkeys(), approval.quorum)
    {
        tracing::warn!("{warning}");
    }
    Ok((link::start(address, key, secret, devices, approvals.clone(), updates, logins), broker))
}

fn endpoint(
    config: &Config,
    (port, authority): (u16, Option<Arc<str>>),
    current: &Current,
    reload: &Reload,
    events: &Events,
    (link, updates, hub_update): (&Link, Updates, Asking),
    broker: Option<&Broker>,
) -> Endpoint {
    let companions = link.companions().clone();
    let load = Load::new("http");
    let metrics = Metrics::new(
        current.clone(),
        companions.presence().clone(),
        load.clone(),
        broker.map(Broker::load).cloned(),
        reload.count().clone(),
    );
    Endpoint::new(Behind {
        current: current.clone(),
        reload: reload.clone(),
        events: events.clone(),
        metrics,
        companions,
        updates,
        hub_update,
        broker: config.broker.clone(),
        max_body: config.hub.max_body,
        hosts: config.hub.hosts.clone(),
        port,
        tls_port: config.web.listen.map(|address| address.port()),
        authority,
        approvers: config.approval.approvers.iter().map(|approver| approver.word()).collect(),
        load,
    })
}

/// Serves the HTTP interface, with as many connections as there are `descriptors` for, until it is told to stop.
fn serve(
    config: &Config,
    listeners: Listeners,
    endpoint: Endpoint,
    descriptors: usize,
) -> (JoinHandle<()>, watch::Sender<bool>) {
    let connections = descriptors.min(config.hub.max_connections);
    let bounds = server::Bounds::of(connections, listeners.outside.is_some());
    let (stop, stopped) = watch::channel(false);
    (tokio::spawn(server::serve(listeners, endpoint, bounds, stopped)), stop)
}
