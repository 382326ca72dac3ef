# system.conf of the machine, and ca.cert.pem of whoever builds, before meta-rauc's examples (gatepost_keys.bbclass sees to it
# that there is one). A path and not RAUC_KEYRING_URI, as bitbake unpacks an absolute file:// with all its folders.
FILESEXTRAPATHS:prepend:gatepost-os := "${THISDIR}/files:"
FILESEXTRAPATHS:prepend:gatepost-os := "${GATEPOST_KEYS}:"
