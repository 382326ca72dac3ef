//! Tells the linker where each of the two programs lies, and the runner which root it trusts.

use std::env;

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    for (program, memory) in [("gatepost-qemu-virt", "memory.x"), ("gatepost-qemu-boot", "boot/memory.x")] {
        println!("cargo:rustc-link-arg-bin={program}=-T{folder}/{memory}");
        println!("cargo:rustc-link-arg-bin={program}=-Tlink.x");
        println!("cargo:rerun-if-changed={memory}");
    }
    if let Err(error) = gatepost_build::write_release() {
        println!("cargo::error={error}");
    }
}
