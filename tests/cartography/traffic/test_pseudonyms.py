import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartography.traffic.anonymization import Pseudonymizer, generate_key, read_key
from core.errors import BadInput
from tests.cartography.traffic.logs import ALICE, BOB, KEY, VIRGINIA, conn, header, read

HIDDEN = Pseudonymizer(KEY)
SIZES = {4: 32, 16: 128}
PACKED = st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16))


def shared_bits(a, b):
    """How many first bits two addresses share."""
    return len(a) * 8 - (int.from_bytes(a) ^ int.from_bytes(b)).bit_length()


@given(st.data(), st.sampled_from([4, 16]))
def test_two_pseudonyms_share_the_prefix_that_their_addresses_share(data, size):
    first = data.draw(st.binary(min_size=size, max_size=size))
    # Neighbours of every distance, not only strangers.
    flip = data.draw(st.integers(0, (1 << data.draw(st.integers(0, size * 8))) - 1))
    second = (int.from_bytes(first) ^ flip).to_bytes(size)
    hidden = HIDDEN.hide_packed(first), HIDDEN.hide_packed(second)
    assert shared_bits(*hidden) == shared_bits(first, second)


@given(PACKED)
def test_the_same_key_gives_the_same_pseudonym(packed):
    assert Pseudonymizer(KEY).hide_packed(packed) == HIDDEN.hide_packed(packed)


def test_a_slash_24_is_mapped_one_to_one():
    found = {HIDDEN.hide_packed(bytes([192, 0, 2, last])) for last in range(256)}
    assert len(found) == 256
    assert len({packed[:3] for packed in found}) == 1


def test_every_bit_is_flipped_about_as_often_as_not():
    """A function that left a bit alone would keep the prefix, and hide nothing."""
    addresses = [n.to_bytes(4) for n in range(0, 1 << 32, (1 << 32) // 4096 + 1)]
    flipped = [int.from_bytes(HIDDEN.hide_packed(a)) ^ int.from_bytes(a) for a in addresses]
    # The first bits depend on few bits before them, so that they are checked over keys.
    for bit in range(16):
        share = sum(f >> bit & 1 for f in flipped) / len(flipped)
        assert 0.4 < share < 0.6, bit
    keys = [Pseudonymizer(bytes([n]) * 32) for n in range(200)]
    for bit in (0, 7, 8, 31):
        shift = 31 - bit
        flips = [int.from_bytes(k.hide_packed(bytes(4))) >> shift & 1 for k in keys]
        assert 60 < sum(flips) < 140, bit


def test_another_key_gives_others():
    address = bytes([10, 1, 2, 3])
    found = {Pseudonymizer(generate_key()).hide_packed(address) for _ in range(50)}
    assert len(found) > 45


def test_only_the_client_is_hidden_and_its_address_is_nowhere(tmp_path):
    text = header("conn") + conn("C1", orig_h=ALICE) + conn("C2", orig_h=BOB)
    _, parts = read(tmp_path, text)
    alice, bob = (r["client"] for r in sorted(parts["conn"], key=lambda r: r["key"]))
    assert {r["server"] for r in parts["conn"]} == {VIRGINIA}
    assert alice != ALICE
    packed = [ipaddress.ip_address(a).packed for a in (alice, bob)]
    assert shared_bits(*packed) == 30
    for part in (tmp_path / "out0").iterdir():
        assert ALICE.encode() not in part.read_bytes()


def test_a_key_is_refused_where_it_is_not_safe(tmp_path):
    output, key = tmp_path / "data", tmp_path / "key"
    output.mkdir()
    key.write_bytes(KEY)
    key.chmod(0o600)
    assert read_key(key, output) == KEY
    beside = output / "key"
    beside.write_bytes(KEY)
    with pytest.raises(BadInput, match="in the folder of the results"):
        read_key(beside, output)
    (tmp_path / "link").symlink_to(beside)
    with pytest.raises(BadInput, match="in the folder of the results"):
        read_key(tmp_path / "link", output)
    key.chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        read_key(key, output)
    with pytest.raises(BadInput, match="head -c 32"):
        read_key(tmp_path / "none", output)
    with pytest.raises(BadInput, match="at least 32 bytes"):
        Pseudonymizer(b"short")
