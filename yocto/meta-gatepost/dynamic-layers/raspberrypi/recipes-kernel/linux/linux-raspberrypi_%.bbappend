FILESEXTRAPATHS:prepend:gatepost-os := "${THISDIR}/files:"
SRC_URI:append:gatepost-os = " file://gatepost-rpi.cfg"
