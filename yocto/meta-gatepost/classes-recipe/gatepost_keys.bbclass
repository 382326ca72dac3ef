# The keys of whoever builds, which sign bundles and which the image trusts. The layer has none: README.md says how to make them.
#
# GATEPOST_KEYS is a folder with ca.cert.pem, bundle.cert.pem and bundle.key.pem. Without it the recipe is skipped, since
# meta-rauc would put its example's certificate into the image.
# nooelint: oelint.task.noanonpython - a recipe can be skipped while it is parsed, and not later
python () {
    if not bb.utils.contains('DISTRO_FEATURES', 'rauc', True, False, d):
        return
    keys = d.getVar('GATEPOST_KEYS')
    if not keys:
        raise bb.parse.SkipRecipe('GATEPOST_KEYS has to name the folder of your keys, see yocto/README.md')
    for name in ('ca.cert.pem', 'bundle.cert.pem', 'bundle.key.pem'):
        if not os.path.isfile(os.path.join(keys, name)):
            raise bb.parse.SkipRecipe('%s is not in GATEPOST_KEYS (%s), see yocto/README.md' % (name, keys))
}
