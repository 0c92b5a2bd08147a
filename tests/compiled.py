"""Compiles once what all tests, and the sites that they start, would each compile for themselves.

What was compiled is kept beside its source, so a second ``python -m tests.compiled`` only loads it.
"""

import pyarrow as pa

from analysis.optimization import warm_up
from cartography.placement.cloud_table import PrefixTable
from tests.cartography.ranges.files import read_sample


def main() -> None:
    """The choice of regions, and columns of addresses."""
    warm_up()
    match_addresses()


def match_addresses() -> None:
    """A column of both families."""
    addresses = PrefixTable.build([read_sample("aws-sample.json")]).addresses
    addresses.match_text(pa.array(["192.0.2.1", "2001:db8::1", None, ""]))


if __name__ == "__main__":
    main()
