//! The Yocto layer, judged by those who know layers: `oelint-adv` finds nothing in it, and kas takes its files. The keys that its
//! guide has people make are made and used. Nothing is fetched or built; `cargo xtask yocto-check` compares the layer with the
//! repository.
//!
//! Installed by `tests/run --setup-only`: oelint-adv, kas.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use gatepost_tests::peers;
use serde_json::Value;

use super::documents::{Document, find, root};

const LAYER: &str = "yocto/meta-gatepost";
const GUIDE: &str = "yocto/README.md";
/// The longest that a judge may take.
const LONGEST: Duration = Duration::from_secs(60);

/// What `oelint-adv` says of these, by the layer's own configuration.
fn lint(files: &[PathBuf]) -> Result<String> {
    let mut judge = Command::new(peers::python()?);
    judge.args(["-m", "oelint_adv"]).args(files).env("OELINT_CONFIG", "yocto/oelint.cfg").current_dir(root());
    peers::step(&mut judge, LONGEST)
}

#[test]
fn oelint_finds_nothing_in_the_layer() -> Result<()> {
    let mut files = Vec::new();
    let kinds = ["bb", "bbappend", "bbclass", "conf"];
    // What lies in `files` goes into an image: RAUC's and systemd's configuration are no statements of bitbake's.
    let fits = |path: &Path| {
        path.extension().is_some_and(|end| kinds.iter().any(|kind| end == *kind))
            && path.iter().all(|folder| folder != "files")
    };
    find(LAYER.as_ref(), &fits, &mut files)?;
    ensure!(files.len() >= 10, "the layer is elsewhere: {files:?}");
    let said = lint(&files)?;
    ensure!(said.trim().is_empty(), "{said}");
    Ok(())
}

#[test]
fn oelint_would_find_something() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let recipe = folder.path().join("gatepost-system_1.0.bb");
    let text = fs::read_to_string(
        root().join(LAYER).join("recipes-gatepost/gatepost-system/gatepost-system_1.0.bb"),
    )?;
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("SUMMARY")).collect();
    fs::write(&recipe, without.join("\n") + "\n")?;
    let said = lint(&[recipe]).expect_err("a recipe says what it is").to_string();
    ensure!(said.contains("mandatoryvar.SUMMARY"), "{said}");
    Ok(())
}

/// What kas makes of each of these files.
fn kas(files: &[PathBuf]) -> Result<Vec<Value>> {
    let mut reader = Command::new(peers::python()?);
    reader.arg(peers::file("kas-config.py")).args(files);
    let said = peers::step(&mut reader, LONGEST)?;
    said.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

#[test]
fn kas_takes_its_files_and_every_layer_of_others_is_pinned() -> Result<()> {
    let root = root().canonicalize()?;
    let machines = ["raspberrypi4-64", "qemuarm64"];
    let read = kas(&machines.map(|machine| root.join(format!("yocto/kas/{machine}.yml"))))?;
    ensure!(read.len() == machines.len(), "{read:?}");
    for (machine, config) in machines.iter().zip(read) {
        ensure!(config["machine"] == *machine && config["distro"] == "gatepost-os", "{config}");
        let repos = config["repos"].as_object().context("it has layers")?;
        ensure!(repos.contains_key("openembedded-core") && repos.contains_key("bitbake"), "{config}");
        for (name, repo) in repos {
            if name == "gatepost" {
                ensure!(repo["layers"].get(LAYER).is_some() && repo.get("url").is_none(), "{repo}");
                continue;
            }
            let commit = repo["commit"].as_str().unwrap_or_default();
            ensure!(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{name}: {repo}"
            );
            ensure!(repo["url"].as_str().is_some_and(|url| url.starts_with("https://")), "{name}: {repo}");
        }
    }
    Ok(())
}

#[test]
fn kas_would_refuse_a_key_that_it_does_not_know() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("wrong.yml");
    fs::write(&file, "header:\n  version: 14\nmachin: qemuarm64\n")?;
    let said = kas(&[file]).expect_err("machin is no key").to_string();
    ensure!(said.contains("LoadConfigException"), "{said}");
    Ok(())
}

/// The guide's block of this language that has this text.
fn block(language: &str, text: &str) -> Result<String> {
    let guide = Document::read(GUIDE.into())?;
    let blocks = guide.blocks.into_iter().filter(|block| block.language == language);
    blocks
        .map(|block| block.text)
        .find(|block| block.contains(text))
        .with_context(|| format!("{GUIDE}: {text}"))
}

#[test]
fn kas_takes_the_file_that_the_guide_has_people_write() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("local.yml");
    fs::write(&file, block("yaml", "local_conf_header")?)?;
    let said = kas(&[file])?;
    let mine = said[0]["local_conf_header"].to_string();
    ensure!(mine.contains("GATEPOST_KEYS") && mine.contains("GATEPOST_ROOT_HASH"), "{mine}");
    Ok(())
}

#[test]
fn the_guides_commands_make_the_keys_that_the_layer_wants() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c"]).arg(block("sh", "openssl req")?).env("HOME", home.path());
    peers::step(shell.current_dir(home.path()), LONGEST)?;

    let keys = home.path().join("gatepost-keys");
    let class = fs::read_to_string(root().join(LAYER).join("classes-recipe/gatepost_keys.bbclass"))?;
    for name in ["ca.cert.pem", "bundle.cert.pem", "bundle.key.pem"] {
        ensure!(class.contains(&format!("'{name}'")) && keys.join(name).is_file(), "{name}");
    }
    let openssl =
        |arguments: &[&str]| peers::step(Command::new("openssl").args(arguments).current_dir(&keys), LONGEST);
    let purpose = ["-purpose", "smimesign"];
    openssl(&[&["verify"], &purpose[..], &["-CAfile", "ca.cert.pem", "bundle.cert.pem"]].concat())?;
    // RAUC signs as CMS, which has no Ed25519 in OpenSSL 3.0.
    let text = openssl(&["x509", "-in", "bundle.cert.pem", "-noout", "-text"])?;
    ensure!(text.contains("ASN1 OID: prime256v1"), "{text}");
    Ok(())
}
