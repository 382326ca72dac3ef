SUMMARY = "A hub in a box"
DESCRIPTION = "One service on a root that nobody writes to, with its data apart. A Raspberry Pi has two slots for updates."
LICENSE = "MIT"

inherit features_check gatepost_keys image extrausers

REQUIRED_DISTRO_FEATURES = "systemd usrmerge"

IMAGE_FEATURES += "overlayfs-etc read-only-rootfs"
IMAGE_LINGUAS = ""
IMAGE_INSTALL = "\
    gatepost \
    gatepost-system \
    packagegroup-core-boot \
    systemd-conf \
    ${@bb.utils.contains('DISTRO_FEATURES', 'rauc', '${GATEPOST_UPDATES}', '', d)} \
"
# A slot has its own kernel. libubootenv-bin has fw_setenv, u-boot-default-env its configuration.
GATEPOST_UPDATES = "kernel-image kernel-modules libubootenv-bin rauc rauc-mark-good u-boot-default-env"

# Before init, so before udev: a device's own name, not /dev/disk/by-label. /data is made here, since the root is read-only.
# https://docs.yoctoproject.org/ref-manual/classes.html#overlayfs-etc
OVERLAYFS_ETC_MOUNT_POINT = "/data"
OVERLAYFS_ETC_FSTYPE = "ext4"
OVERLAYFS_ETC_DEVICE:rpi = "/dev/mmcblk0p4"
OVERLAYFS_ETC_DEVICE:qemuarm64 = "/dev/vda2"
OVERLAYFS_ETC_CREATE_MOUNT_DIRS = "0"
ROOTFS_POSTPROCESS_COMMAND += "gatepost_data_folder"
gatepost_data_folder[doc] = "Makes the mount point of the data partition"
gatepost_data_folder() {
    install -d -m 0755 ${IMAGE_ROOTFS}${OVERLAYFS_ETC_MOUNT_POINT}
}

# A card's slot and a bundle have the same files: wic writes no fstab of its own.
WIC_CREATE_EXTRA_ARGS = "--no-fstab-update"
# What block-hash-index compares are blocks of 4 KB.
# https://rauc.readthedocs.io/en/latest/advanced.html
IMAGE_ROOTFS_ALIGNMENT = "4"
# nooelint: oelint.vars.specific - the override is the type of the image
EXTRA_IMAGECMD:ext4 = "-b 4096 -i 4096"

# A hash of root's password, as `openssl passwd -6` prints it, with a backslash before each $. Without one nobody can log in.
# https://docs.yoctoproject.org/ref-manual/classes.html#extrausers
GATEPOST_ROOT_HASH ?= ""
EXTRA_USERS_PARAMS = "${@"usermod -p '%s' root;" % d.getVar('GATEPOST_ROOT_HASH') if d.getVar('GATEPOST_ROOT_HASH') else ''}"

# runqemu loads the kernel, and the disk has partitions.
QB_FSINFO:qemuarm64 = "wic:no-kernel-in-fs"
QB_DEFAULT_FSTYPE:qemuarm64 = "wic"
QB_KERNEL_ROOT:qemuarm64 = "/dev/vda1 ro"
