"""ASes operated by the cloud providers, in addition to their published address ranges.

Router interfaces inside a cloud often have addresses outside the published ranges.
"""

# AS numbers of the providers from the public AS registries; callers may pass another table.
CLOUD_ASES: dict[str, frozenset[int]] = {
    "aws": frozenset({7224, 8987, 14618, 16509, 17493, 39111, 58588, 62785}),
    "azure": frozenset(
        {
            3598,
            5761,
            6182,
            6584,
            8068,
            8069,
            8070,
            8071,
            8072,
            8073,
            8074,
            8075,
            12076,
            13399,
            14719,
            17345,
            20046,
            22692,
            23468,
            25796,
            26222,
            30135,
            31792,
            32476,
            36006,
            40066,
        }
    ),
    "google": frozenset(
        {
            15169,
            16591,
            19425,
            19448,
            19527,
            22859,
            26684,
            36039,
            36040,
            36383,
            36384,
            36385,
            36492,
            41264,
            43515,
            139070,
            139190,
            396982,
        }
    ),
    "oracle": frozenset({31898, 54253, 4192, 7160}),
    "ibm": frozenset({36351, 13884, 2687}),
    "digitalocean": frozenset({14061, 46652, 62567, 133165, 135340, 200130, 202018, 202109}),
    "linode": frozenset({63949, 48337, 21844}),
    "cloudflare": frozenset({13335, 132892, 202623, 203898, 209242}),
    "fastly": frozenset({54113}),
    "akamai": frozenset({16625, 20940, 12222, 32787, 35994}),
}
