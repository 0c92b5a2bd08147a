"""Make identities of vantage points without the site's web server: FOLDER HOST:PORT NAME…"""

import json
import os
import sys
from pathlib import Path


def main(folder, address, *names, limits=None):
    os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
    import django

    django.setup()
    from tasks import admission, identity
    from tasks.addresses import authority

    host, _, port = address.rpartition(":")
    for name in names:
        _, token = admission.invite(name, {}, limits or {})
        joined = admission.join(token, "127.0.0.1", "test")
        who = identity.Identity(
            name=name,
            site="http://127.0.0.1:9",
            host=host,
            port=int(port),
            user=admission.USER + name,
            password=joined.password,
            authority=authority(),
            limits=joined.point.limits,
        )
        identity.save(who, Path(folder) / name)


if __name__ == "__main__":
    main(*sys.argv[1:], limits=json.loads(os.environ.get("LIMITS", "{}")))
