//! How the program is linked, whose releases of companions' firmware it takes where the configuration does not say, and what it serves that
//! is no code: the page, and the document of its HTTP interface.

use std::{env, fmt::Write as _, fs, io::Write as _, path::Path};

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::Value;

/// What is sent of a file of the page.
#[path = "src/intake/http/page/served.rs"]
mod served;

/// What the page's type checker reads, and nobody else.
const NOT_SERVED: &str = "types.js";

/// The files of the page as they are sent, packed by gzip, and a list of them: the name of each, and its bytes.
fn embed_page() {
    println!("cargo::rerun-if-changed=web");
    println!("cargo::rerun-if-changed=src/intake/http/page/served.rs");
    let into = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("web");
    fs::create_dir_all(&into).expect("cargo's folder can be written");
    let files = fs::read_dir("web")
        .expect("the page is beside its hub")
        .map(|file| file.expect("it can be listed").file_name());
    let mut names: Vec<String> =
        files.map(|name| name.into_string().expect("names of the page are plain")).collect();
    names.retain(|name| name != NOT_SERVED);
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let text = fs::read_to_string(Path::new("web").join(&name)).expect("a file of the page is text");
        // Three quarters less in the program, and on the way to the browser.
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(served::served(&name, &text).as_bytes()).expect("memory takes it");
        fs::write(into.join(&name), packed.finish().expect("memory takes it"))
            .expect("cargo's folder can be written");
        writeln!(list, "    ({name:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/web/{name}\"))),")
            .expect("a text takes text");
    }
    fs::write(into.with_extension("rs"), list + "]\n").expect("cargo's folder can be written");
}

/// The document of the HTTP interface with its version, packed by zlib, and the query keys of each call in it.
fn embed_openapi() {
    println!("cargo::rerun-if-changed=openapi.json");
    let text = fs::read("openapi.json").expect("the document of the interface is beside its hub");
    let mut document: Value = serde_json::from_slice(&text).expect("it is JSON");
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    let into = env::var("OUT_DIR").expect("cargo sets it");
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(document.to_string().as_bytes()).expect("memory takes it");
    fs::write(format!("{into}/openapi.json.zlib"), packed.finish().expect("memory takes it"))
        .expect("cargo's folder can be written");
    let mut keys = String::from("&[\n");
    for (path, methods) in document["paths"].as_object().expect("paths are an object") {
        write!(keys, "    ({path:?}, &[").expect("a text takes text");
        for (method, call) in methods.as_object().expect("a path is an object") {
            let parameters = call["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            let known = parameters.iter().filter(|one| one["in"] == "query").map(|one| &one["name"]);
            let known: Vec<&str> = known.filter_map(Value::as_str).collect();
            write!(keys, "({:?}, &{known:?}), ", method.to_uppercase()).expect("a text takes text");
        }
        keys.push_str("]),\n");
    }
    fs::write(format!("{into}/query_keys.rs"), keys + "]\n").expect("cargo's folder can be written");
}

/// The file of a root, as a hub finds it where `[updates] root` names none; or an empty one.
fn embed_root() {
    println!("cargo::rerun-if-env-changed=GATEPOST_ROOT");
    let into = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("update-root");
    let root = env::var_os("GATEPOST_ROOT").map_or_else(Vec::new, |file| {
        println!("cargo::rerun-if-changed={}", file.display());
        fs::read(&file).unwrap_or_else(|error| panic!("GATEPOST_ROOT: {}: {error}", file.display()))
    });
    fs::write(into, root).expect("cargo's folder can be written");
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    embed_root();
    embed_page();
    embed_openapi();
    let of = |name| env::var(name).unwrap_or_default();
    let processor = of("CARGO_CFG_TARGET_ARCH");
    if of("CARGO_CFG_TARGET_OS") != "linux"
        || of("CARGO_CFG_TARGET_ENV") != "gnu"
        || !["x86_64", "aarch64"].contains(&processor.as_str())
    {
        return;
    }
    // A megabyte of relocations becomes ten kilobytes, on disk and, as the loader reads them all, in memory. Needs glibc 2.36,
    // which has it since 2022; a linker that does not know it for a processor says so and goes on.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    // Another megabyte. Tests unwind, and are no release.
    if of("PROFILE") == "release" {
        println!("cargo::rerun-if-changed=no-unwind-tables.ld");
        let script = Path::new(&of("CARGO_MANIFEST_DIR")).join("no-unwind-tables.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
    }
}
