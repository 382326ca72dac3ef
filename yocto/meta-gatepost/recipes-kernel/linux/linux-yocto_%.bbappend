FILESEXTRAPATHS:prepend:gatepost-os := "${THISDIR}/files:"
# /etc is an overlay before any module can be loaded.
SRC_URI:append:gatepost-os = " file://gatepost.cfg"
