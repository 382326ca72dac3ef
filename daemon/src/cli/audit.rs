//! `gatepost audit`.
//!
//! It reads the database itself, so that whoever has a copy of it and the hub's public key can check it anywhere, and
//! nobody has to believe a running hub.

use std::path::{Path, PathBuf};

use gatepost_link::decision::PublicKey;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use super::{Failed, output, prove};
use crate::{
    approval::prove::all::{self, Checked},
    audit::checkpoint::{Checkpoint, from_hex},
    clock::rfc3339,
    config::Config,
    hub::public_key,
    printing::{print_note, print_result},
    random::to_hex,
    store::{self, StoreError},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Follow the whole chain, check every signature of hub and companions, and compare approval documents and the stored
    /// messages with it; name what does not fit.
    Verify {
        /// Another database, such as a backup.
        #[arg(long)]
        database: Option<PathBuf>,
        /// The hub's public key in hexadecimal, where its own is not at hand.
        #[arg(long)]
        key: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print what a person decided about a message or answered to a question, with the signatures: a file that proves itself to others.
    ///
    /// It has the document that was shown, and for each decision the bytes that were signed, the signature and the device's public key
    /// (Ed25519). `gatepost audit check FILE` verifies it anywhere, and so does any other program for such signatures.
    Prove {
        /// The message or question.
        id: String,
    },
    /// Verify a file that `gatepost audit prove` printed. No hub is needed: the keys are in it, and whether you trust them is yours to say.
    Check {
        /// The file.
        file: PathBuf,
        /// The public key that the hub must have, in hexadecimal: `gatepost audit verify` says it there.
        #[arg(long)]
        key: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what happened, oldest first.
    Show {
        /// Only what happened to this message.
        #[arg(long)]
        message: Option<String>,
        /// At most this many rows, the newest.
        #[arg(long, default_value_t = 100)]
        limit: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(config: &Path, command: Command) -> Result<(), Failed> {
    match command {
        Command::Verify { database, key, json } => check(config, database, key, json),
        Command::Prove { id } => prove::prove(config, &id),
        Command::Check { file, key, json } => prove::check(&file, key.as_deref(), json),
        Command::Show { message, limit, json } => show(config, message.as_deref(), limit, json),
    }
}

fn check(config: &Path, database: Option<PathBuf>, key: Option<String>, json: bool) -> Result<(), Failed> {
    let key = match &key {
        Some(key) => {
            from_hex::<32>(key).ok_or_else(|| Failed::Usage("a key has 64 hexadecimal digits".to_owned()))?
        }
        None => public_key(&directory(config)?).map_err(Failed::refused)?.0,
    };
    // What lies beside a hub's own database says nothing about a copy.
    let (database, kept) = match database {
        Some(database) => (database, None),
        None => {
            let directory = directory(config)?;
            (directory.join("gatepost.db"), Checkpoint::kept(&directory))
        }
    };
    let db = open(&database)?;
    warn_of_newer(&db, &database);
    let checked = all::check(&db, PublicKey(key), kept, &mut |_| Ok(())).map_err(Failed::refused)?;
    let whole = checked.faults().next().is_none();
    let Checked { chain: report, proof, stored } = &checked;
    if json {
        let mut shown = json!(report);
        if let Some(faults) = shown["faults"].as_array_mut() {
            faults.extend(proof.faults.iter().map(|fault| json!(fault)));
            faults.extend(stored.faults.iter().map(|fault| json!(fault)));
        }
        shown["decisions"] = proof.decisions.into();
        shown["documents"] = proof.documents.into();
        shown["documents_gone"] = proof.documents_gone.into();
        shown["messages"] = stored.messages.into();
        shown["unhashed"] = stored.unhashed.into();
        shown["ok"] = whole.into();
        shown["key"] = to_hex(&key).into();
        print_result!("{shown}")?;
    } else {
        print_result!(
            "{} rows, {} to {}; signed to row {} by {}",
            report.rows,
            report.purged_to + 1,
            report.last,
            report.signed_to,
            to_hex(&key)
        )?;
        print_result!(
            "{} decisions are their devices' own; {} approval documents are what is stored, {} went with their messages",
            proof.decisions,
            proof.documents,
            proof.documents_gone
        )?;
        print_result!("{} messages are stored", stored.messages)?;
        if stored.unhashed > 0 {
            print_result!(
                "{} of them carry no hash of what was accepted: they were accepted by a Gatepost from before there were any, or \
                 the audit's retention took their row; only their states were compared",
                stored.unhashed
            )?;
        }
        for fault in checked.faults() {
            print_result!("{fault}")?;
        }
    }
    match whole {
        true => {
            print_note!("the audit is whole");
            Ok(())
        }
        false => Err(Failed::Refused("the audit is not what was written".into())),
    }
}

/// A later gatepost may hash columns that this one does not know.
fn warn_of_newer(db: &Connection, database: &Path) {
    let directory = database.parent().unwrap_or(Path::new("."));
    let newer = match store::newer(db, directory) {
        Ok(Some(newer)) => newer.to_string(),
        Err(error @ StoreError::Newer { .. }) => error.to_string(),
        // What else is wrong with it, the verification says.
        _ => return,
    };
    print_note!("{newer}. Before you believe a fault that is found here, verify with the newer one");
}

fn show(config: &Path, message: Option<&str>, limit: u32, as_json: bool) -> Result<(), Failed> {
    let db = open(&directory(config)?.join("gatepost.db"))?;
    let sql = "SELECT seq, at, actor, event, message, detail FROM audit WHERE ?1 IS NULL OR message = ?1
               ORDER BY seq DESC LIMIT ?2";
    let mut rows = db.prepare(sql).map_err(Failed::refused)?;
    let rows = rows.query_map((message, limit), |row| {
        let at: i64 = row.get(1)?;
        let detail: String = row.get(5)?;
        Ok(json!({
            "seq": row.get::<_, i64>(0)?,
            "at": rfc3339(at),
            "actor": row.get::<_, String>(2)?,
            "event": row.get::<_, String>(3)?,
            "message": row.get::<_, Option<String>>(4)?,
            "detail": serde_json::from_str::<Value>(&detail).unwrap_or(Value::String(detail)),
        }))
    });
    let mut rows: Vec<Value> =
        rows.and_then(|rows| rows.collect::<Result<_, _>>()).map_err(Failed::refused)?;
    rows.reverse();
    if as_json {
        print_result!("{}", Value::Array(rows))?;
        return Ok(());
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let mut cells = vec![row["seq"].to_string(), output::moment(output::text(row, "at"))];
            cells.extend(["actor", "event", "message"].map(|name| output::text(row, name).to_owned()));
            cells.push(output::text(&row["detail"], "reason").to_owned());
            cells
        })
        .collect();
    print_result!("{}", output::table(&["ROW", "AT", "BY", "WHAT", "MESSAGE", "WHY"], &cells))?;
    Ok(())
}

pub(super) fn directory(config: &Path) -> Result<PathBuf, Failed> {
    Ok(Config::load(config).map_err(Failed::refused)?.hub.data_dir)
}

/// A hub's database, to read.
pub(super) fn open(database: &Path) -> Result<Connection, Failed> {
    let failed = |error| Failed::Refused(format!("cannot read {}: {error}", database.display()));
    let db = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    // A hub may be writing: all that is read is of one moment.
    db.execute_batch("BEGIN").map_err(failed)?;
    Ok(db)
}
