# nooelint: oelint.file.underscores,oelint.var.mandatoryvar.SRC_URI - no source, and the version is the distribution's
SUMMARY = "An update of gatepost-image, signed"
DESCRIPTION = "A RAUC bundle with the root of gatepost-image, for the slot that is not running."
HOMEPAGE = "https://github.com/gatepost/gatepost"
LICENSE = "MIT"

inherit bundle gatepost_keys

RAUC_BUNDLE_COMPATIBLE = "gatepost-${MACHINE}"
RAUC_BUNDLE_VERSION = "${DISTRO_VERSION}"
RAUC_BUNDLE_DESCRIPTION = "Gatepost ${DISTRO_VERSION} for ${MACHINE}"
RAUC_BUNDLE_FORMAT = "verity"
RAUC_BUNDLE_SLOTS = "rootfs"
RAUC_SLOT_rootfs = "gatepost-image"
RAUC_SLOT_rootfs[fstype] = "ext4"
# Blocks that the other slot has already are not written again.
RAUC_SLOT_rootfs[adaptive] = "block-hash-index"

RAUC_KEY_FILE = "${GATEPOST_KEYS}/bundle.key.pem"
RAUC_CERT_FILE = "${GATEPOST_KEYS}/bundle.cert.pem"
RAUC_KEYRING_FILE = "${GATEPOST_KEYS}/ca.cert.pem"
