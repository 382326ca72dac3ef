SUMMARY = "Hub that lets an AI agent's messages out, or asks a person first"
DESCRIPTION = "Queues messages, checks them against allowlists, asks for approval on a companion, sends them, keeps an audit."
HOMEPAGE = "https://github.com/gatepost/gatepost"
BUGTRACKER = "https://github.com/gatepost/gatepost/issues"
SECTION = "net"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=2ccb5e0fa1ae6ceb2b76cc855643e92b \
                    file://LICENSE-APACHE;md5=1836efb2eb779966696f473ee8540542"
CVE_PRODUCT = "gatepost:gatepost"

# The folder of a release. A folder of this computer fits too: "file:///home/me/release". Bitbake then does not compare the
# checksum, which it does for http and its like only (FetchData in bitbake's lib/bb/fetch2/__init__.py).
GATEPOST_RELEASES ?= "https://github.com/gatepost/gatepost/releases/download/v${PV}"
SRC_URI = "${GATEPOST_RELEASES}/${BP}.tar.xz"
# Zeros until there is a release: no archive fits. `cargo xtask yocto-check --archive FILE` compares.
SRC_URI[sha256sum] = "0000000000000000000000000000000000000000000000000000000000000000"

inherit cargo systemd useradd

# The archive has the crates, and cargo's configuration that names them: one source, one checksum. Cargo reads the
# configuration from the folder in which it runs, which is ${B}, so it is told where it is.
# https://doc.rust-lang.org/cargo/reference/config.html#hierarchical-structure
CARGO_DISABLE_BITBAKE_VENDORING = "1"
CARGO_BUILD_FLAGS:append = " --config ${S}/.cargo/config.toml --package gatepost --bin gatepost --package gatepost-flash --bin gatepost-flash"

# As `cargo xtask hub` builds it (tests/xtask/src/hub.rs): the program ends at a panic, so that tables for unwinding are of no
# use; fat LTO in one unit is smallest. Stripping is left to bitbake, which keeps the symbols in gatepost-dbg.
RUSTFLAGS:append = " -Cforce-unwind-tables=no"
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = "1"
export CARGO_PROFILE_RELEASE_LTO = "fat"
export CARGO_PROFILE_RELEASE_STRIP = "none"

# The class's own would install every example and every other program of the workspace.
do_install() {
    install -D -m 0755 ${B}/target/${CARGO_TARGET_SUBDIR}/gatepost ${D}${bindir}/gatepost
    install -D -m 0755 ${B}/target/${CARGO_TARGET_SUBDIR}/gatepost-flash ${D}${libexecdir}/gatepost-flash
    install -D -m 0644 ${S}/daemon/packaging/systemd/gatepost.service ${D}${systemd_system_unitdir}/gatepost.service
    install -D -m 0644 ${S}/daemon/packaging/systemd/gatepost-update.path ${D}${systemd_system_unitdir}/gatepost-update.path
    install -D -m 0644 ${S}/daemon/packaging/systemd/gatepost-update.service ${D}${systemd_system_unitdir}/gatepost-update.service
    install -D -m 0644 ${S}/daemon/packaging/tmpfiles.d/gatepost.conf ${D}${nonarch_libdir}/tmpfiles.d/gatepost.conf
}

USERADD_PACKAGES = "${PN}"
# Numbers of their own: what lies on the data partition belongs to the same user in every image.
GROUPADD_PARAM:${PN} = "--system --gid 700 gatepost"
USERADD_PARAM:${PN} = "--system --uid 700 --gid gatepost --home-dir ${localstatedir}/lib/gatepost --no-create-home --shell ${base_sbindir}/nologin gatepost"

SYSTEMD_SERVICE:${PN} = "gatepost.service gatepost-update.path gatepost-update.service"

FILES:${PN} += "${nonarch_libdir}/tmpfiles.d/gatepost.conf"
# The authorities of platforms' certificates, and the time zones of people.
RDEPENDS:${PN} += "ca-certificates tzdata-core"
