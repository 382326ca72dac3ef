//! The chips' memory and its sections, which esp-hal's build script writes down; and what this build is.

fn main() {
    println!("cargo:rustc-link-arg=-Tlinkall.x");
    println!("cargo:rerun-if-changed=build.rs");
    if let Err(error) = gatepost_build::write_release() {
        println!("cargo::error={error}");
    }
}
