# Its boot.cmd.in instead of meta-raspberrypi's.
FILESEXTRAPATHS:prepend:gatepost-os := "${THISDIR}/files:"
