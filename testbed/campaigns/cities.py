"""Eighty real cities used as synthetic vantage points, and the regions that they measure.

Places and continents are real; all measurements between them are synthetic and labelled so.
"""

from typing import NamedTuple


class City(NamedTuple):
    """One synthetic vantage point; ``asn`` is from the documentation range."""

    name: str
    city: str
    country: str
    continent: str
    lat: float
    lon: float
    asn: int


class Region(NamedTuple):
    """One of EC2's eight regions of 2013: its zones and how many ISPs each of them showed."""

    name: str
    lat: float
    lon: float
    zones: tuple[str, ...]
    isps: tuple[int, ...]
    # Which of its routes took the largest ISP, as far as that was published.
    largest_share: float
    rate_kb_s: float


# Zones and counts of ISPs: IMC'13 Table 14; shares of us-west-1 and eu-west-1: section 4.5.2.
REGIONS = (
    Region("us-east-1", 39.0, -77.5, ("a", "b", "c"), (36, 36, 34), 0.22, 2600),
    Region("us-west-1", 37.4, -121.9, ("a", "b"), (18, 19), 0.31, 2700),
    Region("us-west-2", 45.8, -119.7, ("a", "b", "c"), (19, 19, 19), 0.26, 2200),
    Region("eu-west-1", 53.3, -6.3, ("a", "b", "c"), (10, 11, 13), 0.33, 2400),
    Region("ap-northeast-1", 35.7, 139.7, ("a", "c"), (9, 9), 0.36, 2000),
    Region("ap-southeast-1", 1.4, 103.8, ("a", "b"), (11, 12), 0.30, 1900),
    Region("ap-southeast-2", -33.9, 151.2, ("a", "b"), (4, 4), 0.52, 1700),
    Region("sa-east-1", -23.5, -46.6, ("a", "b"), (4, 4), 0.48, 1500),
)
_PLACES = """
Seattle|US|NA|47.6|-122.3;Boulder|US|NA|40.0|-105.3;Los Angeles|US|NA|34.1|-118.2
Berkeley|US|NA|37.9|-122.3;San Diego|US|NA|32.7|-117.2;Salt Lake City|US|NA|40.8|-111.9
Houston|US|NA|29.8|-95.4;Austin|US|NA|30.3|-97.7;Chicago|US|NA|41.9|-87.6
Madison|US|NA|43.1|-89.4;St. Louis|US|NA|38.6|-90.2;Atlanta|US|NA|33.7|-84.4
Durham|US|NA|36.0|-78.9;College Park|US|NA|39.0|-76.9;Princeton|US|NA|40.3|-74.7
New York|US|NA|40.7|-74.0;Cambridge (Massachusetts)|US|NA|42.4|-71.1;Pittsburgh|US|NA|40.4|-80.0
Toronto|CA|NA|43.7|-79.4;Vancouver|CA|NA|49.3|-123.1;Montréal|CA|NA|45.5|-73.6
Mexico City|MX|NA|19.4|-99.1;San José|CR|NA|9.9|-84.1;São Paulo|BR|SA|-23.5|-46.6
Rio de Janeiro|BR|SA|-22.9|-43.2;Porto Alegre|BR|SA|-30.0|-51.2;Buenos Aires|AR|SA|-34.6|-58.4
Montevideo|UY|SA|-34.9|-56.2;Santiago|CL|SA|-33.4|-70.7;Lima|PE|SA|-12.0|-77.0
Bogotá|CO|SA|4.7|-74.1;Quito|EC|SA|-0.2|-78.5;London|GB|EU|51.5|-0.1
Lancaster|GB|EU|54.0|-2.8;Dublin|IE|EU|53.3|-6.3;Paris|FR|EU|48.9|2.4
Grenoble|FR|EU|45.2|5.7;Madrid|ES|EU|40.4|-3.7;Barcelona|ES|EU|41.4|2.2
Lisbon|PT|EU|38.7|-9.1;Zürich|CH|EU|47.4|8.5;Munich|DE|EU|48.1|11.6
Berlin|DE|EU|52.5|13.4;Amsterdam|NL|EU|52.4|4.9;Brussels|BE|EU|50.8|4.4
Copenhagen|DK|EU|55.7|12.6;Stockholm|SE|EU|59.3|18.1;Oslo|NO|EU|59.9|10.8
Helsinki|FI|EU|60.2|24.9;Tartu|EE|EU|58.4|26.7;Warsaw|PL|EU|52.2|21.0
Kraków|PL|EU|50.1|19.9;Prague|CZ|EU|50.1|14.4;Vienna|AT|EU|48.2|16.4
Budapest|HU|EU|47.5|19.0;Rome|IT|EU|41.9|12.5;Pisa|IT|EU|43.7|10.4
Athens|GR|EU|38.0|23.7;Sofia|BG|EU|42.7|23.3;Bucharest|RO|EU|44.4|26.1
Moscow|RU|EU|55.8|37.6;Istanbul|TR|AS|41.0|29.0;Haifa|IL|AS|32.8|35.0
Dubai|AE|AS|25.2|55.3;Mumbai|IN|AS|19.1|72.9;Bangalore|IN|AS|13.0|77.6
Bangkok|TH|AS|13.8|100.5;Singapore|SG|AS|1.4|103.8;Kuala Lumpur|MY|AS|3.1|101.7
Hong Kong|HK|AS|22.3|114.2;Taipei|TW|AS|25.0|121.5;Beijing|CN|AS|39.9|116.4
Seoul|KR|AS|37.6|127.0;Tokyo|JP|AS|35.7|139.7;Osaka|JP|AS|34.7|135.5
Sydney|AU|OC|-33.9|151.2;Melbourne|AU|OC|-37.8|145.0;Auckland|NZ|OC|-36.8|174.8
Cape Town|ZA|AF|-33.9|18.4;Nairobi|KE|AF|-1.3|36.8
"""
# AS numbers reserved for documentation (RFC 5398).
_FIRST_ASN = 65536
_SPARE_ASNS = 15


def _cities() -> tuple[City, ...]:
    lines = [entry for line in _PLACES.split("\n") for entry in line.split(";") if entry]
    made = []
    for number, line in enumerate(lines):
        city, country, continent, lat, lon = line.split("|")
        name = "".join(c if c.isalnum() else "-" for c in _plain(city).lower()).strip("-")
        asn = _FIRST_ASN + number % _SPARE_ASNS
        slug = f"synthetic-{'-'.join(p for p in name.split('-') if p)}"
        made.append(City(slug, city, country, continent, float(lat), float(lon), asn))
    return tuple(made)


def _plain(text: str) -> str:
    return text.translate(str.maketrans("áãäéíóõü", "aaaeioou"))


CITIES = _cities()
