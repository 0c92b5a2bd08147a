import gzip
import json

import pytest

from tests.cartography.traffic.logs import (
    ALICE,
    AZURE,
    CONN,
    HTTP,
    STRANGER,
    V6_VIRGINIA,
    VIRGINIA,
    conn,
    header,
    read,
    row,
)


def reasons(account):
    return {
        reason: (own["count"], own["first_lines"])
        for reason, own in account.tally.as_json().items()
    }


def test_it_works(tmp_path):
    text = header("conn") + conn("C1") + conn("C2", resp_h=AZURE, resp_p="53", proto="udp")
    text += conn("C3", resp_h=STRANGER) + "#close\t2024-07-01-01-00-00\n"
    (account,), parts = read(tmp_path, text)

    assert (account.kinds, reasons(account), account.damage) == ({"conn": 3}, {}, "")
    clouds = {name: own.as_json() for name, own in account.clouds.total().items()}
    assert clouds["aws"] == clouds["azure"] == {"rows": 1, "bytes": 1000, "flows": 1}
    assert account.elsewhere.total()[""].rows == 1
    first, second = sorted(parts["conn"], key=lambda r: r["key"])
    assert (first["key"], first["provider"], first["region"]) == ("C1", "aws", "us-east-1")
    assert (first["port"], first["ip_bytes"], first["payload_bytes"]) == (443, 1000, None)
    assert (first["server"], first["toward"], first["inside"]) == (VIRGINIA, True, True)
    assert first["hour"] == 1719792000 // 3600
    assert (second["transport"], second["provider"]) == ("udp", "azure")


def test_a_header_may_change_its_columns_and_its_log_on_the_way(tmp_path):
    few = ["_node_name", "uid", "id.resp_h", "id.orig_h", "resp_bytes"]
    text = header("conn") + conn("C1")
    text += header("conn", few) + f"worker-1\tC2\t{AZURE}\t{ALICE}\t77\n"
    text += header("http") + row("http", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, host="a.example")
    text += header("conn", path="weird") + "what\never\n"
    (account,), parts = read(tmp_path, text)

    assert account.kinds == {"conn": 2, "http": 1}
    assert reasons(account) == {"another kind of log": (2, [32, 33])}
    narrow = next(r for r in parts["conn"] if r["key"] == "C2")
    assert (narrow["payload_bytes"], narrow["ip_bytes"], narrow["port"]) == (77, None, None)
    assert (narrow["transport"], narrow["hour"]) == ("unknown_transport", None)
    assert account.without_time == 1


def test_a_log_without_a_path_is_told_by_its_fields(tmp_path):
    text = header("http").replace("#path\thttp\n", "") + row(
        "http", uid="C1", orig_h=ALICE, resp_h=VIRGINIA, host="a.example"
    )
    (account,), _ = read(tmp_path, text)
    assert account.kinds == {"http": 1}


def test_separators_unset_and_empty_are_the_headers_own(tmp_path):
    text = (
        "#separator ;\n#set_separator;|\n#empty_field;EMPTY\n#unset_field;NONE\n#path;conn\n"
        f"#fields;{';'.join(CONN)}\n"
    )
    text += (
        conn("C1", service="ssl|http", orig_bytes="NONE").replace("-", "NONE").replace("\t", ";")
    )
    text += conn("C2", service="EMPTY").replace("-", "NONE").replace("\t", ";")
    (account,), parts = read(tmp_path, text)
    assert (account.rows, account.tally.total) == (2, 0)
    assert [r["service"] for r in parts["conn"]] == ["ssl,http", None]


def test_a_tab_may_be_named_as_converters_name_it(tmp_path):
    text = header("conn").replace("#separator \\x09", "#separator \\t") + conn("C1")
    assert "#separator \\t\n" in text

    (account,), _ = read(tmp_path, text)
    assert (account.rows, account.tally.total) == (1, 0)


def test_windows_line_ends_blank_lines_and_remarks_do_not_matter(tmp_path):
    text = "### a remark\n" + header("conn") + "\n" + conn("C1") + "\n\n" + conn("C2")
    for number, own in enumerate((text, text.replace("\n", "\r\n"))):
        (account,), parts = read(tmp_path, own, number=number)
        assert [r["key"] for r in parts["conn"]] == ["C1", "C2"]
        assert account.tally.total == 0


def test_masked_times_and_uids_are_joined_by_their_ends(tmp_path):
    masked = {"ts": "XXXXXXXXXX.XXXXXX", "uid": "XXXXXXXXXXX"}
    first = header("conn") + conn(**masked) + conn(**masked, orig_p="40001")
    second = header("ssl") + row(
        "ssl", **masked, orig_h=ALICE, resp_h=VIRGINIA, server_name="a.example"
    )
    (log, _), parts = read(tmp_path, first, second)
    assert (log.rows, log.tally.total, log.without_time) == (2, 0, 2)
    keys = [r["key"] for r in parts["conn"]]
    assert len(set(keys)) == 2
    assert parts["ssl"][0]["key"] == keys[0]
    assert ALICE not in "".join(keys)


def test_what_is_refused_is_counted_with_its_lines(tmp_path):
    bad = [
        "C1\ttoo\tfew\n",
        conn("C2", resp_h="not-an-address"),
        conn("C3", resp_p="70000"),
        conn("C4", orig_ip_bytes="-5"),
        conn("C5", resp_ip_bytes="9" * 19),
        conn("C6", proto="<script>"),
        conn("C7", orig_h="-"),
        conn("C8").replace("\n", "\tone more\n"),
    ]
    text = header("conn") + conn("C0") + "".join(bad) + conn("C9")
    (account,), parts = read(tmp_path, text)
    assert reasons(account) == {
        "wrong number of columns": (2, [9, 16]),
        "an end is not an address": (2, [10, 15]),
        "not a port": (1, [11]),
        "a size is not a number": (2, [12, 13]),
        "unknown transport": (1, [14]),
    }
    assert [r["key"] for r in parts["conn"]] == ["C0", "C9"]


def test_a_row_is_no_less_for_a_hostile_time(tmp_path):
    times = ["1e999", "-1", "99999999999", "nan", "1719792000", "2024-07-01T00:00:00.5Z"]
    text = header("conn") + "".join(conn(f"C{i}", ts=ts) for i, ts in enumerate(times))
    (account,), parts = read(tmp_path, text)
    assert (account.rows, account.without_time) == (6, 4)
    assert [r["hour"] for r in parts["conn"]] == [None] * 4 + [1719792000 // 3600] * 2


def test_a_log_cut_in_the_middle_gives_what_is_whole(tmp_path):
    whole = header("conn") + "".join(conn(f"C{i}") for i in range(100))
    data = whole[: len(whole) - 40]
    (account,), parts = read(tmp_path, data)
    assert reasons(account) == {"cut off": (1, [107])}
    assert len(parts["conn"]) == 99


def test_a_number_that_may_be_half_of_one_is_not_believed(tmp_path):
    fields = CONN[:-1]
    whole = header("conn", fields) + row("conn", fields, uid="C1", orig_h=ALICE, resp_h=VIRGINIA)
    (account,), _ = read(tmp_path, whole[:-2])
    assert reasons(account) == {"cut off": (1, [8])}
    # Where the last column is not read, the row is whole enough.
    (account,), _ = read(tmp_path, (header("conn") + conn("C1"))[:-1], number=1)
    assert (account.rows, account.tally.total) == (1, 0)


def test_a_packed_log_cut_in_the_middle_gives_what_can_be_unpacked(tmp_path):
    lines = [conn(f"C{i}", orig_p=str(1024 + i * 7 % 60000)) for i in range(5000)]
    data = gzip.compress((header("conn") + "".join(lines)).encode())
    (account,), _ = read(tmp_path, data[: len(data) // 2])
    assert account.damage == "the gzip ends early; what it holds was read"
    assert 1000 < account.rows < 5000
    assert account.tally.total <= 1


def test_packed_members_are_joined(tmp_path):
    hours = [header("conn") + conn(f"C{hour}") for hour in range(3)]
    data = b"".join(gzip.compress(text.encode()) for text in hours) + bytes(100)
    (account,), parts = read(tmp_path, data)
    assert (account.damage, [r["key"] for r in parts["conn"]]) == ("", ["C0", "C1", "C2"])


def test_a_broken_gzip_is_told(tmp_path):
    data = bytearray(gzip.compress((header("conn") + conn("C1")).encode()))
    data[12:20] = bytes(8)
    (account,), _ = read(tmp_path, bytes(data))
    assert "broken" in account.damage
    assert account.rows == 0


def test_rows_before_any_header_are_counted(tmp_path):
    (account,), _ = read(tmp_path, conn("C1") + conn("C2") + header("conn") + conn("C3"))
    assert (account.rows, reasons(account)) == (1, {"no header above": (2, [1, 2])})


def test_bytes_that_are_no_text_cost_their_own_row_only(tmp_path):
    text = (
        header("conn").encode() + conn("C1").encode() + conn("C2").encode().replace(b"C2", b"\xff")
    )
    (account,), parts = read(tmp_path, text + conn("C3").encode())
    assert reasons(account) == {"not UTF-8": (1, [9])}
    assert [r["key"] for r in parts["conn"]] == ["C1", "C3"]


def test_a_huge_line_costs_itself_only(tmp_path):
    huge = row("http", uid="C2", orig_h=ALICE, resp_h=VIRGINIA, uri="/" + "a" * 20_000_000)
    short = row("http", uid="C3", orig_h=ALICE, resp_h=VIRGINIA, host="a.example")
    (account,), parts = read(tmp_path, header("http") + short + huge + short + huge[:-1])
    assert reasons(account) == {"line longer than 1 MiB": (2, [9, 11])}
    assert len(parts["http"]) == 2


def test_objects_are_read_flat_and_nested(tmp_path):
    flat = {"id.orig_h": ALICE, "id.orig_p": 5, "id.resp_h": VIRGINIA, "id.resp_p": 443}
    lines = [
        {"_path": "conn", "ts": 1719792000.5, "uid": "C1", **flat, "proto": "tcp", "orig_bytes": 7},
        {
            "ts": "2024-07-01T00:00:00.5Z",
            "uid": "C2",
            "id": {"orig_h": ALICE, "orig_p": 5, "resp_h": V6_VIRGINIA, "resp_p": 80},
            "proto": "udp",
            "conn_state": "SF",
            "orig_bytes": 8,
            "local_orig": True,
        },
        {"ts": 1719792000500, "uid": "C3", **flat, "host": "a.example", "request_body_len": 0},
        {"ts": 1, "uid": "C4", **flat, "request_from": "x", "request_body_len": 0},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines) + '[1]\n{"uid": \n"x"\n{"ts": 1, "ui'
    (account,), parts = read(tmp_path, text)
    assert account.kinds == {"conn": 2, "http": 1}
    assert reasons(account) == {
        "no JSON object": (3, [5, 6, 7]),
        "cut off": (1, [8]),
        "another kind of log": (1, [4]),
    }
    first, second = sorted(parts["conn"], key=lambda r: r["key"])
    assert (first["payload_bytes"], first["port"], first["server"]) == (7, 443, VIRGINIA)
    assert (second["payload_bytes"], second["server"]) == (8, V6_VIRGINIA)
    hours = {r["hour"] for rows in parts.values() for r in rows}
    assert hours == {1719792000 // 3600}


def test_text_and_objects_of_the_same_log_agree(tmp_path):
    rows = [
        {
            "ts": "1719792000.5",
            "uid": f"C{i}",
            "id.orig_h": ALICE,
            "id.orig_p": str(i),
            "id.resp_h": VIRGINIA,
            "id.resp_p": "80",
            "host": f"h{i}.example",
            "request_body_len": "1",
            "response_body_len": str(i),
        }
        for i in range(20)
    ]
    text = header("http") + "".join("\t".join(r.get(f, "-") for f in HTTP) + "\n" for r in rows)
    objects = "".join(json.dumps({"_path": "http", **r}) + "\n" for r in rows)
    _, as_text = read(tmp_path, text)
    _, as_objects = read(tmp_path, objects, number=1)
    assert as_text == as_objects


def test_other_packings_are_refused_with_what_to_do(tmp_path):
    from core.errors import BadInput

    with pytest.raises(BadInput, match="packed by xz"):
        read(tmp_path, b"\xfd7zXZ\x00rest")
