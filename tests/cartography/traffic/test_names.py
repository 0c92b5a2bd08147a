import pytest

from cartography.traffic.names import read_first_name, read_host, read_subject

HOSTS = {
    "www.Example.COM": ("www.example.com", "example.com", None),
    "www.example.co.uk:8443": ("www.example.co.uk", "example.co.uk", None),
    "d111.cloudfront.net.": ("d111.cloudfront.net", "cloudfront.net", None),
    "bücher.example": ("xn--bcher-kva.example", "xn--bcher-kva.example", None),
    r"b\xc3\xbccher.example": ("xn--bcher-kva.example", "xn--bcher-kva.example", None),
    "198.51.100.5": (None, None, "an address"),
    "198.51.100.5:80": (None, None, "an address"),
    "[2001:db8::1]:80": (None, None, "an address"),
    "2001:db8::1": (None, None, "an address"),
    "": (None, None, "no name"),
    "localhost": (None, None, "not a name"),
    "a..b": (None, None, "not a name"),
    "${jndi:ldap://x}": (None, None, "not a name"),
    "-a.example": (None, None, "not a name"),
    "a.example\0.evil": (None, None, "not a name"),
    r"a\x00b.example": (None, None, "not a name"),
    "x" * 64 + ".example": (None, None, "not a name"),
    ("x" * 60 + ".") * 5 + "example": (None, None, "not a name"),
    "999.999.999.999": (None, None, "not a name"),
}


@pytest.mark.parametrize("text", HOSTS)
def test_hosts(text):
    assert tuple(read_host(text)) == HOSTS[text]


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (r"CN=*.cloudfront.net,O=Amazon.com\, Inc.,L=Seattle,C=US", "cloudfront.net"),
        (r"O=A\, CN=fake.example,CN=www.a.example", "www.a.example"),
        ("emailAddress=a@b.example,CN=shop.example", "shop.example"),
        ("/C=US/O=Dropbox/CN=*.dropbox.com", "dropbox.com"),
        ("CN=My Printer,O=Home", None),
        ("O=No name", None),
    ],
)
def test_common_names(subject, name):
    assert read_subject(subject).name == name


@pytest.mark.parametrize(
    "names", ["*.a.example,b.example", '["*.a.example","b.example"]', "a.example"]
)
def test_the_first_name_of_a_set(names):
    assert read_first_name(names).name == "a.example"


def test_an_empty_set_has_no_name():
    assert read_first_name("(empty)").reason == read_first_name("[]").reason == "no name"
