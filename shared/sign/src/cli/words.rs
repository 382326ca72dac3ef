//! Roots and manifests in words.

use std::fmt::Write as _;

use gatepost_link::update::{
    Manifest, Root,
    root::{RootFile, Signer},
};
use gatepost_sign::{date, minisign::Public, roots};

/// A day, or that there is none.
pub(super) fn expiry(expires: u64) -> String {
    if expires == 0 { "never".to_owned() } else { date::words(expires) }
}

/// A root's keys, who has signed and who is missing.
pub(super) fn root(file: &RootFile, before: Option<&Root>) -> String {
    let root = file.unverified();
    let mut text = format!("Root version {}, expires {}\n", root.version(), expiry(root.expires()));
    let mut missing = signers(&mut text, "Root keys", root, file, None);
    let release = root.release();
    let (threshold, keys) = (release.threshold(), release.keys());
    _ = writeln!(text, "Release keys, {threshold} of {} must sign a release:", keys.len());
    for key in keys {
        _ = writeln!(text, "  {}", Public::of(*key));
    }
    if keys.iter().any(|key| root.root().keys().contains(key)) {
        text.push_str("Note: a key signs roots and releases. Who steals it has both; two keys are safer.\n");
    }
    if let Some(before) = before {
        let title = format!("Root keys of version {}", before.version());
        missing += signers(&mut text, &title, before, file, Some(before));
        if before.version().checked_add(1) != Some(root.version()) {
            _ = writeln!(
                text,
                "It does not follow version {}: no device goes from that to it.",
                before.version()
            );
        }
    } else if root.version() > 1 {
        let count =
            file.signatures().iter().filter(|(signer, _)| matches!(signer, Signer::Before(_))).count();
        _ = writeln!(text, "Signatures by the root before: {count}, not checked; --before OLD does.");
    }
    match missing {
        0 if before.is_none() && root.version() > 1 => text.push_str("Signed by enough of its own keys.\n"),
        0 => text.push_str("Signed by enough keys.\n"),
        _ => _ = writeln!(text, "Not signed by enough keys yet: {missing} more must sign."),
    }
    text
}

/// Lists the keys of a root and who has signed; how many signatures are missing.
fn signers(text: &mut String, title: &str, of: &Root, file: &RootFile, before: Option<&Root>) -> usize {
    let (threshold, keys) = (usize::from(of.root().threshold()), roots::signed_by(file, before));
    _ = writeln!(text, "{title}, {threshold} of {} must sign this root:", keys.len());
    for (key, signed) in &keys {
        _ = writeln!(text, "  {}  {}", Public::of(*key), if *signed { "signed" } else { "not signed" });
    }
    threshold.saturating_sub(keys.iter().filter(|(_, signed)| *signed).count())
}

/// What a release is.
pub(super) fn manifest(manifest: &Manifest, now: u64) -> String {
    let Manifest { product, board, version, floor, size, image, expires, .. } = manifest;
    format!(
        "  product  {product}\n  board    {board}\n  version  {version}\n  floor    {floor}: a device that runs it takes nothing \
         older afterwards\n  expires  {}; this machine's clock says {}\n  image    {size} bytes, SHA-256 {image}\n",
        date::words(*expires),
        date::words(now)
    )
}
