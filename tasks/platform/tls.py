"""TLS to the links' broker: one context per process, which trusts the given authority alone.

The Redis client makes a context for every connection, each with all authorities of the system: half
a megabyte and some milliseconds each time, and hundreds of authorities to trust.
"""

import functools
import socket
import ssl

from redis.connection import SSLConnection

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python's module does not name.
_NO_CHECK_TIME = 0x20_0000


@functools.lru_cache(maxsize=4)
def context_of(authority: str | None) -> ssl.SSLContext:
    """A context that trusts a file's authority, or those of the system where none is given."""
    if authority is None:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A vantage point with a wrong clock has to be able to report it; the authority is its site's.
    context.verify_flags |= _NO_CHECK_TIME
    context.load_verify_locations(authority)
    return context


class PinnedConnection(SSLConnection):
    """A connection to a peer with a certificate signed by the authority of the identity."""

    def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
        return context_of(self.ca_certs).wrap_socket(sock, server_hostname=self.host)
