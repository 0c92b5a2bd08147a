"""Sources of names: zone transfer, NSEC, certificates, imports, word lists, permutations.

Each takes zones and gives names per zone with a status.
"""
