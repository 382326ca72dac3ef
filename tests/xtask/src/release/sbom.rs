//! What the hub's program consists of, as CycloneDX 1.6 (<https://cyclonedx.org/docs/1.6/json/>): each crate that is compiled into it,
//! with its licence, its checksum and what it needs in its turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    super::{cargo, root},
    contents, said,
};
use crate::deb::{date, epoch};

/// The processor whose program is described: crates for others are not in it.
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Writes it, and returns where it is.
pub(super) fn make(folder: &Path, version: &str) -> Result<PathBuf> {
    let asked = said(
        cargo()
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET])
            .current_dir(root()),
    )?;
    let sums = checksums(&fs::read_to_string(root().join("Cargo.lock"))?);
    let date = date(&epoch()?, "+%Y-%m-%dT%H:%M:%SZ")?;
    let sbom = describe(&serde_json::from_str(&asked)?, &sums, &date)?;
    let file = folder.join(contents::sbom(version));
    fs::write(&file, format!("{}\n", serde_json::to_string_pretty(&sbom)?))?;
    println!("{}: {} crates", file.display(), sbom["components"].as_array().map_or(0, Vec::len));
    Ok(file)
}

/// The checksums of Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) = (value("name"), value("version"), value("checksum")) {
            sums.insert((name, version), sum);
        }
    }
    sums
}

/// Of everything that cargo knows, what the hub needs when it runs, and the program beside it that writes boards.
fn describe(metadata: &Value, sums: &BTreeMap<(String, String), String>, date: &str) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let needs: BTreeMap<&str, Vec<&str>> = list(&metadata["resolve"]["nodes"])
        .filter_map(|node| Some((node["id"].as_str()?, needed(node))))
        .collect();
    let (hub, _) = packages.iter().find(|(_, package)| package["name"] == "gatepost").context("the hub")?;
    let mut found = BTreeSet::new();
    // It has no crate of the hub's above it: the hub starts it.
    let flasher = packages.iter().find(|(_, package)| package["name"] == "gatepost-flash");
    let mut open: Vec<&str> = [*hub].into_iter().chain(flasher.map(|(id, _)| *id)).collect();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(needs.get(id).into_iter().flatten());
        }
    }
    let components: Vec<Value> = found
        .iter()
        .filter(|id| *id != hub)
        .filter_map(|id| packages.get(id))
        .map(|package| component(package, sums, "library"))
        .collect();
    let dependencies: Vec<Value> = found
        .iter()
        .filter_map(|id| {
            let on: BTreeSet<String> = needs
                .get(id)?
                .iter()
                .filter_map(|id| packages.get(id))
                .map(|package| purl(package))
                .collect();
            Some(json!({"ref": purl(packages.get(id)?), "dependsOn": on}))
        })
        .collect();
    let hub = component(packages.get(hub).context("the hub")?, sums, "application");
    // A number for the same list each time (RFC 9562, 5.8).
    let digest = Sha256::digest(serde_json::to_vec(&json!([hub, components, dependencies]))?);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let serial = format!("{}-{}-8{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": format!("urn:uuid:{serial}"),
        "version": 1,
        "metadata": {"timestamp": date, "component": hub},
        "components": components,
        "dependencies": dependencies,
    }))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// What a crate needs when it runs: not what it is tested or built with.
fn needed(node: &Value) -> Vec<&str> {
    let at_run_time = |dependency: &&Value| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
    list(&node["deps"]).filter(at_run_time).filter_map(|dependency| dependency["pkg"].as_str()).collect()
}

/// <https://github.com/package-url/purl-spec/blob/main/types-doc/cargo-definition.md>
fn purl(package: &Value) -> String {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, sums: &BTreeMap<(String, String), String>, kind: &str) -> Value {
    let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
    let (name, version, purl) = (text("name"), text("version"), purl(package));
    let mut component =
        json!({"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl});
    if let Some(licence) = package["license"].as_str() {
        // Cargo took a slash for "or" once.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(sum) = sums.get(&(name, version)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_listed_once_with_licence_and_checksum_and_what_builds_is_not() {
        let package = |name: &str, licence: &str| json!({"id": name, "name": name, "version": "1.0.0+x", "license": licence});
        let needs = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("gatepost", "MIT"), package("ring", "MIT/Apache-2.0"), package("cc", "MIT")],
            "resolve": {"nodes": [
                {"id": "gatepost", "deps": [needs("ring", json!(null)), needs("cc", json!("dev"))]},
                {"id": "ring", "deps": [needs("cc", json!("build"))]},
                {"id": "cc", "deps": []},
            ]},
        });
        let lock = "[[package]]\nname = \"ring\"\nversion = \"1.0.0+x\"\nchecksum = \"ab\"\n";
        let sbom = describe(&metadata, &checksums(lock), "2026-11-26T00:00:00Z").unwrap();
        let components = sbom["components"].as_array().unwrap();
        assert_eq!(components.len(), 1);
        assert_eq!(components[0]["purl"], "pkg:cargo/ring@1.0.0%2Bx");
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[0]["hashes"][0]["content"], "ab");
        assert_eq!(sbom["metadata"]["component"]["name"], "gatepost");
        assert_eq!(sbom["dependencies"][0]["dependsOn"], json!(["pkg:cargo/ring@1.0.0%2Bx"]));
        assert_eq!(describe(&metadata, &checksums(lock), "2026-11-26T00:00:00Z").unwrap(), sbom);
    }
}
