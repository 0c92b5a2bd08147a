"""URLs that lead, or try to lead, to this machine, its neighbours or instance metadata."""

from ipaddress import ip_address
from itertools import product

_METADATA = ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192")
_PRIVATE = ("10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "198.18.0.1")
_RESERVED = ("0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "203.0.113.9")
_LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254")
_NAMES = ("localhost", "localhost.", "LOCALHOST", "LocalHost", "ip6-localhost", "ip6-loopback")


def _numbers(address):
    """Ways to write an address of IPv4 that old parsers read."""
    value = int(ip_address(address))
    a, b, c, d = value.to_bytes(4, "big")
    return (
        str(value),
        hex(value),
        hex(value).upper().replace("0X", "0x"),
        f"0{value:o}",
        f"{a}.{(b << 16) | (c << 8) | d}",
        f"{a}.{b}.{(c << 8) | d}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"000{a:o}.000{b:o}.000{c:o}.000{d:o}",
        f"0x{a:x}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.0x{d:x}",
        f"{a}.{b}.{c}.{d}.",
        f"{value + 2**32}",
        f"{a + 256}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.{d:03d}",
    )


def _in_ipv6(address):
    """Addresses of IPv6 that carry one of IPv4, in several ways of writing."""
    value = int(ip_address(address))
    high, low = value >> 16, value & 0xFFFF
    return (
        f"[::ffff:{address}]",
        f"[::ffff:{high:x}:{low:x}]",
        f"[0:0:0:0:0:ffff:{address}]",
        f"[::{address}]",
        f"[64:ff9b::{high:x}:{low:x}]",
        f"[64:ff9b:1::{high:x}:{low:x}]",
        f"[2002:{high:x}:{low:x}::]",
        f"[::ffff:0:{high:x}:{low:x}]",
        f"[2001:4860::5efe:{high:x}:{low:x}]",
        f"[2001:0:{high:x}:{low:x}::]",
    )


_IPV6 = (
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::1%25lo]", "[fe80::1]"),
    *("[fe80::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]", "[ff02::1]", "[ff01::1]"),
    *("[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[4000::1]", "[100::1]", "[2001:10::1]"),
)
_WRITING = (
    *("http://127.0.0.1:{p}@example.com/", "http://example.com@127.0.0.1:{p}/"),
    *("https://example.com:443@127.0.0.1:{p}/", "https://user:pass@localhost:{p}/"),
    *("https://example.com%40127.0.0.1:{p}/", "https://example.com\\@127.0.0.1:{p}/"),
    *("https://127.0.0.1:{p}\\@example.com/", "https://127.0.0.1:{p}#@example.com/"),
    *("https://127.0.0.1:{p}?@example.com/", "https://example.com:{p}@[::1]:{p}/"),
    *(
        "https:/127.0.0.1:{p}/",
        "https:127.0.0.1:{p}",
        "//127.0.0.1:{p}/",
        "https:///127.0.0.1:{p}/",
    ),
    *("https:\\\\127.0.0.1:{p}\\", " https://127.0.0.1:{p}/", "https://127.0.0.1:{p}/ "),
    *("https://127.0.0.1:{p}/\r\nX-Key: 1", "https://127.0.0.1\t:{p}/", "ht\ntps://127.0.0.1:{p}/"),
    *("https://127.0.0.1%00.example.com:{p}/", "https://127.0.0.1%2eexample.com:{p}/"),
    *("https://%31%32%37.0.0.1:{p}/", "https://127%2e0%2e0%2e1:{p}/", "https://127。0。0。1:{p}/"),
    *("https://①②⑦.⓪.⓪.①:{p}/", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{p}/", "https://loc\u00adalhost:{p}/"),
    *("https://localhost\u2024:{p}/", "https://１２７.0.0.1:{p}/", "https://127.0.0.1:0{p}/"),
    *("https://127.0.0.1:+{p}/", "https://127.0.0.1: {p}/", "https://127.0.0.1:{p}:80/"),
    *("https://[127.0.0.1]:{p}/", "https://[::1]]:{p}/", "https://[[::1]:{p}/", "https://::1:{p}/"),
    *(
        "https://[::1:{p}/",
        "https://0:{p}/",
        "https://00:{p}/",
        "https://127.1:{p}/",
        "https://0x7f.1:{p}/",
    ),
    *("https://.localhost:{p}/", "https://..:{p}/", "https://localhost..:{p}/", "https://:{p}/"),
    *(
        "file:///etc/passwd",
        "gopher://127.0.0.1:{p}/_",
        "dict://127.0.0.1:{p}/",
        "ftp://127.0.0.1:{p}/",
    ),
    *("unix:///tmp/socket", "data:text/plain,x", "javascript:alert(1)", "ldap://127.0.0.1:{p}/"),
    *("HTTP://127.0.0.1:{p}/", "HTTPS://127.0.0.1:{p}/", "jar:http://127.0.0.1:{p}!/", "https://"),
    *(
        "http://127.0.0.1:{p}/",
        "ws://127.0.0.1:{p}/",
        "http+unix://%2ftmp%2fs/",
        "https://127.0.0.1:0/",
    ),
)


def hostile_urls(port):
    """Every form once, with the port of a socket that listens on loopback."""
    hosts = [*_LOOPBACK, *_NAMES, *_IPV6, *_METADATA, *_PRIVATE, *_RESERVED]
    hosts += [
        h for address in ("127.0.0.1", "169.254.169.254", "10.0.0.1") for h in _numbers(address)
    ]
    hosts += [h for address in ("127.0.0.1", "169.254.169.254") for h in _in_ipv6(address)]
    urls = [f"{s}://{h}:{port}/" for s, h in product(("http", "https"), hosts)]
    return list(dict.fromkeys([*urls, *(text.replace("{p}", str(port)) for text in _WRITING)]))
