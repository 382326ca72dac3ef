//! Tells the linker where each of the two programs lies, and the runner which root it trusts.

use std::{env, path::Path};

/// The root of whoever only tries things out: its secret keys are in the test tree, for everybody to sign with.
const DEVELOPMENT_ROOT: &str = "../development-root.bin";

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    for (program, memory) in [("gatepost-qemu-virt", "memory.x"), ("gatepost-qemu-boot", "boot/memory.x")] {
        println!("cargo:rustc-link-arg-bin={program}=-T{folder}/{memory}");
        println!("cargo:rustc-link-arg-bin={program}=-Tlink.x");
        println!("cargo:rerun-if-changed={memory}");
    }
    println!("cargo:rerun-if-env-changed=GATEPOST_ROOT");
    println!("cargo:rustc-check-cfg=cfg(development_root)");
    let root = env::var("GATEPOST_ROOT").unwrap_or_else(|_| {
        println!("cargo:rustc-cfg=development_root");
        DEVELOPMENT_ROOT.into()
    });
    let root = Path::new(&folder).join(root);
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rustc-env=GATEPOST_ROOT_FILE={}", root.display());
}
