"""Make identities of vantage points without the site's web server: FOLDER HOST:PORT NAME…"""

import json
import os
import sys
from pathlib import Path


def main(folder, address, *names, limits=None):
    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    import django

    django.setup()
    from tasks.platform.valkey_urls import authority
    from tasks.vantage import credentials
    from tasks.vantage_admin import enrolment

    host, _, port = address.rpartition(":")
    for name in names:
        _, token = enrolment.invite(name, {}, limits or {})
        joined = enrolment.join(token, "127.0.0.1", "test")
        who = credentials.Identity(
            name=name,
            site="http://127.0.0.1:9",
            host=host,
            port=int(port),
            user=enrolment.USER + name,
            password=joined.password,
            authority=authority(),
            limits=joined.point.limits,
        )
        credentials.save(who, Path(folder) / name)


if __name__ == "__main__":
    main(*sys.argv[1:], limits=json.loads(os.environ.get("LIMITS", "{}")))
