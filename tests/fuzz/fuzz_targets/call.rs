//! A call of the `message` tool, whatever it says, as far as it gets without anybody being asked: it is parsed, its address is
//! spelled by an account of its channel, and it is rendered and composed there, or refused in words.
#![no_main]

use std::sync::Arc;

use gatepost::{
    channels::{Adapter, OperationRequest, OutgoingPart, Source, registry::NAMES, sender::Composed},
    message::{call::Call, operation::Operation, target::Destination},
    render,
};
use gatepost_fuzz::accounts::ACCOUNTS;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(call) = serde_json::from_slice::<Value>(bytes) else { return };
    match Call::parse_all(&call, &NAMES) {
        Ok(calls) => calls.iter().for_each(compose),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});

fn compose(call: &Call) {
    let Destination::Address { channel, address, person, thread } = &call.destination else { return };
    let channel = call.channel.as_ref().or(channel.as_ref());
    for account in
        ACCOUNTS.iter().filter(|account| Some(account.capabilities().channel) == channel.map(|c| &**c))
    {
        let Ok(address) = account.spell(address, *person) else { continue };
        let Ok(parts) = render::render(&render::parse(&call.text), &account.flavour()) else { continue };
        let thread = call.thread.as_deref().or(thread.as_deref());
        let extras = match &call.operation {
            Operation::Send(extras) => extras.clone(),
            _ => Default::default(),
        };
        for (index, part) in parts.iter().enumerate() {
            let planned = account.plan(&OutgoingPart {
                address: &address,
                thread,
                reply_to: call.reply_to.as_deref(),
                quoted: None,
                silent: call.silent,
                headline: "",
                source: Source { id: None, agent: "eve", markdown: &call.text },
                part,
                files: &[],
                extras: &extras,
                index,
                of: parts.len(),
            });
            if let Ok(planned) = planned {
                read(account, &planned);
            }
        }
        let part = parts.first();
        let operation = &call.operation;
        let op = OperationRequest {
            address: &address,
            thread,
            reply_to: None,
            silent: call.silent,
            part,
            operation,
        };
        if let Some(Ok(planned)) = account.plan_operation(&op, None) {
            read(account, &planned);
        }
    }
}

/// What an account has composed, it reads again after a restart.
fn read(account: &Arc<dyn Adapter>, planned: &Composed) {
    let request = account.read(&planned.request);
    let _ = (request.redelivery(), request.may_resend(), request.remark());
}
