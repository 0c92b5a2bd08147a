"""Django settings: the environment is read and validated here, once."""

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url

from core.environment import (
    create_folder,
    read_choice,
    read_flag,
    read_int,
    read_list,
    read_parsed,
    read_secret,
    read_text,
)
from core.errors import BadInput, reason_of
from core.files import read_or_create_secret
from core.paths import data_folder

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_folder()
create_folder("NEPHOSCOPE_DATA", DATA_DIR)
LAKE_DIR = DATA_DIR / "lake"
# Object storage that holds the lake, s3://BUCKET/PREFIX?endpoint=…; the folder then has copies.
LAKE_URL = read_text("NEPHOSCOPE_LAKE_URL", "")
LAKE_ACCESS_KEY = read_text("NEPHOSCOPE_LAKE_ACCESS_KEY", "")
LAKE_SECRET_KEY = read_secret("NEPHOSCOPE_LAKE_SECRET_KEY")
RANGES_DIR = DATA_DIR / "ranges"
UPLOADS_DIR = DATA_DIR / "uploads"
WORLDS_DIR = DATA_DIR / "worlds"

NAME_SERVERS = read_list("NEPHOSCOPE_NAME_SERVERS")
ALLOWED_NETWORKS = read_list("NEPHOSCOPE_ALLOWED_NETWORKS")
# Whether the scheduler asks the providers for newer range files, once a day.
FETCH_RANGES = read_flag("NEPHOSCOPE_FETCH_RANGES", True)
MAP_TILES_URL = read_text("NEPHOSCOPE_MAP_TILES_URL", "")
MAP_TILES_CREDIT = read_text("NEPHOSCOPE_MAP_TILES_CREDIT", "")
# Where people and vantage points reach this site, and where vantage points reach the links' broker.
SITE_URL = read_text("NEPHOSCOPE_SITE_URL", "http://127.0.0.1:8000").rstrip("/")
LINKS_ADDRESS = read_text("NEPHOSCOPE_LINKS_ADDRESS", "127.0.0.1:6390")
# Addresses of proxies with trusted X-Forwarded-For and X-Forwarded-Proto headers.
PROXIES = read_list("NEPHOSCOPE_PROXIES")
# Surveys that run or wait at once; one more is refused, so that a page cannot flood resolvers.
MAX_ACTIVE_SURVEYS = read_int("NEPHOSCOPE_MAX_ACTIVE_SURVEYS", 4)
MAX_ACTIVE_SURVEYS_PER_USER = read_int("NEPHOSCOPE_MAX_ACTIVE_SURVEYS_PER_USER", 2)
MAX_SURVEY_DOMAINS = read_int("NEPHOSCOPE_MAX_SURVEY_DOMAINS", 100_000)
# What a survey needs to continue, and how long it waits for it: a shard that lacks space or a name
# server waits so long, then twice as long, up to twelve times; in all, not longer than MAX_WAIT_H.
MIN_FREE_MB = read_int("NEPHOSCOPE_MIN_FREE_MB", 64)
RETRY_WAIT_S = read_int("NEPHOSCOPE_RETRY_WAIT_S", 5)
MAX_WAIT_H = read_int("NEPHOSCOPE_MAX_WAIT_H", 24)
# How long a shard that is under way waits for name servers before it gives its work up.
RESOLVER_PATIENCE_S = read_int("NEPHOSCOPE_RESOLVER_PATIENCE_S", 120)
# Public measurement networks: where they are, and the keys of this installation.
# The token of an account at another installation, for ``audit --server``.
API_TOKEN = read_secret("NEPHOSCOPE_TOKEN")
GLOBALPING_URL = read_text("NEPHOSCOPE_GLOBALPING_URL", "https://api.globalping.io")
GLOBALPING_TOKEN = read_secret("NEPHOSCOPE_GLOBALPING_TOKEN")
ATLAS_URL = read_text("NEPHOSCOPE_ATLAS_URL", "https://atlas.ripe.net")
ATLAS_KEY = read_secret("NEPHOSCOPE_ATLAS_KEY")
# Receivers of webhooks, HOST:PORT, that may be private and without TLS: testbeds, nothing else.
WEBHOOK_TEST_TARGETS = read_list("NEPHOSCOPE_WEBHOOK_TEST_TARGETS")
# The mail server that alerts by e-mail go through; without one there are none.
EMAIL_HOST = read_text("NEPHOSCOPE_SMTP_HOST", "")
EMAIL_PORT = read_int("NEPHOSCOPE_SMTP_PORT", 587)
EMAIL_HOST_USER = read_text("NEPHOSCOPE_SMTP_USER", "")
EMAIL_HOST_PASSWORD = read_secret("NEPHOSCOPE_SMTP_PASSWORD")
EMAIL_USE_TLS = read_flag("NEPHOSCOPE_SMTP_TLS", True)
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = read_text("NEPHOSCOPE_EMAIL_FROM", "nephoscope@localhost")
# Compressed reports of one pool of screened machines.
MAX_POOL_BYTES = read_int("NEPHOSCOPE_MAX_POOL_MB", 4_000) * 1_000_000
# Whether who is not signed in may start surveys, which everyone then sees.
ANONYMOUS_SURVEYS = read_flag("NEPHOSCOPE_ANONYMOUS_SURVEYS", True)


def _secret_key() -> str:
    """A key of this installation's own, made once and kept readable for its owner only."""
    given = read_secret("NEPHOSCOPE_SECRET_KEY")
    path = DATA_DIR / "secret-key"
    try:
        return given or read_or_create_secret(path)
    except OSError as error:
        raise BadInput(
            f"cannot keep {path}: {reason_of(error)}", field="NEPHOSCOPE_DATA"
        ) from error


SECRET_KEY = _secret_key()
DEBUG = read_flag("NEPHOSCOPE_DEBUG", False)
ALLOWED_HOSTS = read_list("NEPHOSCOPE_HOSTS") or ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = read_list("NEPHOSCOPE_TRUSTED_ORIGINS")
# Sign-up is open by default on a loopback site only; the operator opens it elsewhere.
_IS_LOCAL = set(ALLOWED_HOSTS) <= {"127.0.0.1", "localhost", "[::1]"}
SIGN_UP_OPEN = read_choice("NEPHOSCOPE_SIGN_UP", ("open", "closed"), int(not _IS_LOCAL)) == "open"

# Whether zone transfers and probes of an account need a proof that it controls the target.
OWNERSHIP_PROOF = (
    read_choice("NEPHOSCOPE_OWNERSHIP_PROOF", ("off", "required"), int(not _IS_LOCAL)) == "required"
)
# Domains surveyed and probes planned in 30 days; 0 is no limit.
MONTHLY_DOMAINS_PER_USER = read_int("NEPHOSCOPE_MONTHLY_DOMAINS_PER_USER", 0)
MONTHLY_PROBES_PER_USER = read_int("NEPHOSCOPE_MONTHLY_PROBES_PER_USER", 0)
MONTHLY_DOMAINS_PER_ORGANISATION = read_int("NEPHOSCOPE_MONTHLY_DOMAINS_PER_ORGANISATION", 0)
MONTHLY_PROBES_PER_ORGANISATION = read_int("NEPHOSCOPE_MONTHLY_PROBES_PER_ORGANISATION", 0)
# Address or page of the people who operate the installation, for those who are measured.
CONTACT = read_text("NEPHOSCOPE_CONTACT", "")

# Sign-on by an OpenID Connect provider: its issuer, and what it knows this site by.
OIDC_ISSUER = read_text("NEPHOSCOPE_OIDC_ISSUER", "").rstrip("/")
OIDC_CLIENT_ID = read_text("NEPHOSCOPE_OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = read_secret("NEPHOSCOPE_OIDC_CLIENT_SECRET")
OIDC_NAME = read_text("NEPHOSCOPE_OIDC_NAME", "single sign-on")
# Whether the first sign-on there creates an account here.
OIDC_SIGN_UP = read_choice("NEPHOSCOPE_OIDC_SIGN_UP", ("open", "closed")) == "open"


def _check_oidc() -> None:
    if not OIDC_CLIENT_ID:
        raise BadInput(
            "the identifier of this site at the provider is missing",
            field="NEPHOSCOPE_OIDC_CLIENT_ID",
        )
    host = urlsplit(OIDC_ISSUER).hostname
    if not OIDC_ISSUER.startswith("https://") and host not in ("127.0.0.1", "localhost", "::1"):
        raise BadInput("an issuer begins with https://", field="NEPHOSCOPE_OIDC_ISSUER")
    if not find_spec("authlib"):
        raise BadInput(
            "OpenID Connect needs a library that is not installed; run: .venv/bin/pip install "
            "--require-hashes -r requirements/oidc.lock",
            field="NEPHOSCOPE_OIDC_ISSUER",
        )


if OIDC_ISSUER:
    _check_oidc()

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ninja",
    "webapp.store",
    "webapp.pages",
    "webapp.console",
]
# Access to /metrics: clients with this token; without one, processes of this machine.
METRICS_TOKEN = read_secret("NEPHOSCOPE_METRICS_TOKEN")
MIDDLEWARE = [
    "webapp.api.monitoring.requests.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "webapp.pages.ui.static_files.CompressedStaticFiles",
    "webapp.pages.ui.content_security.ContentSecurityPolicy",
    "webapp.pages.ui.access.SecureCookies",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "webapp.pages.ui.compression.Compression",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.pages.accounts.share_link.SharedView",
    "webapp.pages.ui.access.VisibilityMiddleware",
    "webapp.api.framework.authentication.ApiAuthenticationMiddleware",
    "webapp.api.framework.request_bodies.AnonymousBodyLimitMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
_LOADERS = [
    "webapp.pages.ui.template_loader.CompactLoader",
    "django.template.loaders.app_directories.Loader",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["webapp.pages.templatetags.addresses"],
            "loaders": _LOADERS if DEBUG else [("django.template.loaders.cached.Loader", _LOADERS)],
        },
    }
]
DATABASES = {
    "default": read_parsed(
        "DATABASE_URL", f"sqlite:///{DATA_DIR / 'nephoscope.sqlite3'}", dj_database_url.parse
    )
}
if DATABASES["default"]["ENGINE"].endswith("postgresql") and not find_spec("psycopg"):
    raise BadInput(
        "PostgreSQL needs a driver that is not installed; run: .venv/bin/pip install "
        "--require-hashes -r requirements/postgresql.lock",
        field="DATABASE_URL",
    )
# Connections to PostgreSQL that a process keeps; without any, each request or task opens its own.
DATABASE_POOL = read_int("NEPHOSCOPE_DATABASE_POOL", 0)


def _postgresql_options() -> dict[str, object]:
    """How long a process waits for a server that the network has cut off, and the pool."""
    options: dict[str, object] = {
        "connect_timeout": 10,
        # TCP alone retries for a quarter of an hour before it reports that nothing arrives.
        "tcp_user_timeout": 20_000,
        "keepalives_idle": 20,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }
    if DATABASE_POOL and find_spec("psycopg_pool"):
        options["pool"] = {"min_size": 1, "max_size": DATABASE_POOL, "timeout": 10}
    return options


if DATABASES["default"]["ENGINE"].endswith("postgresql"):
    _given = DATABASES["default"].get("OPTIONS", {})
    DATABASES["default"]["OPTIONS"] = _postgresql_options() | _given
    # A pooled connection of a server that was restarted is replaced instead of used.
    DATABASES["default"]["ENGINE"] = "webapp.store.postgresql"
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # WAL alone still ends in "database is locked": writers must queue from their first statement.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
FIXTURE_DIRS = [BASE_DIR / "fixtures"]

LANGUAGE_CODE = "en-gb"
# Texts are English: without translation no request asks for the language of its thread.
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "webapp" / "pages" / "static"]
create_folder("NEPHOSCOPE_DATA", STATIC_ROOT)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "webapp.pages.ui.static_files.DigestStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# One byte more than the list reader's own limit is never kept in memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 40 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Only if all visitors always use HTTPS: browsers enforce it for this time.
SECURE_HSTS_SECONDS = 86_400 * read_int("NEPHOSCOPE_HSTS_DAYS", 0)
# Memory-hard, and of the standard library; sums made by Django's usual hasher stay good.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign-in"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "webapp.pages.ui.errors.forbidden"
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008", "security.W012", "security.W016"]

# A line for people, or one JSON object a line for a collector of logs.
LOG_FORMAT = read_choice("NEPHOSCOPE_LOG_FORMAT", ("line", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s%(context)s %(message)s"},
        "json": {"()": "tasks.platform.log_context.JsonFormatter"},
    },
    "filters": {"context": {"()": "tasks.platform.log_context.ContextFilter"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["context"],
        },
        "nowhere": {"class": "logging.NullHandler"},
    },
    # A wrong Host header is a client error that the access log shows.
    "loggers": {
        "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
    },
    "root": {"handlers": ["stderr"], "level": read_text("NEPHOSCOPE_LOG_LEVEL", "WARNING")},
}
