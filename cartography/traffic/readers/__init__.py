"""Readers of traffic logs and captures: Zeek TSV and JSON, pcap and pcapng."""
