SUMMARY = "What makes an image a hub: where data lies, and when a start was good"
DESCRIPTION = "Mounts the hub's data from the data partition, and reaches boot-complete.target only with a hub that answers."
HOMEPAGE = "https://github.com/gatepost/gatepost"
BUGTRACKER = "https://github.com/gatepost/gatepost/issues"
SECTION = "base"
LICENSE = "MIT"
# nooelint: oelint.var.licenseremotefile - all its files are of this layer
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/MIT;md5=0835ade698e0bcf8506ecda2f7b4f302"
CVE_PRODUCT = ""

SRC_URI = "\
    file://boot.mount \
    file://gatepost-healthy.service \
    file://tmpfiles.conf \
    file://update.conf \
    file://var-lib-gatepost.mount \
    file://var-lib-gatepost_update.mount \
    file://watchdog.conf \
"
S = "${UNPACKDIR}"

inherit features_check systemd

REQUIRED_DISTRO_FEATURES = "systemd"
# boot.mount names the Pi's first partition.
PACKAGE_ARCH = "${MACHINE_ARCH}"

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -D -m 0644 ${S}/gatepost-healthy.service ${D}${systemd_system_unitdir}/gatepost-healthy.service
    install -D -m 0644 ${S}/var-lib-gatepost.mount ${D}${systemd_system_unitdir}/var-lib-gatepost.mount
    install -D -m 0644 ${S}/var-lib-gatepost_update.mount ${D}${systemd_system_unitdir}/var-lib-gatepost_update.mount
    install -D -m 0644 ${S}/update.conf ${D}${systemd_system_unitdir}/gatepost-update.service.d/image.conf
    install -D -m 0644 ${S}/tmpfiles.conf ${D}${nonarch_libdir}/tmpfiles.d/gatepost-system.conf
    install -D -m 0644 ${S}/watchdog.conf ${D}${nonarch_libdir}/systemd/system.conf.d/gatepost-system.conf
}
do_install:append:rpi() {
    install -D -m 0644 ${S}/boot.mount ${D}${systemd_system_unitdir}/boot.mount
}

SYSTEMD_SERVICE:${PN} = "gatepost-healthy.service var-lib-gatepost.mount var-lib-gatepost_update.mount"
SYSTEMD_SERVICE:${PN}:append:rpi = " boot.mount"

FILES:${PN} += "${systemd_system_unitdir}/gatepost-update.service.d ${nonarch_libdir}/tmpfiles.d ${nonarch_libdir}/systemd/system.conf.d"
RDEPENDS:${PN} += "gatepost"
