"""Packets of traceroutes: headers, raw sockets, the error queue, multipath detection."""
