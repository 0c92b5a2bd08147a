"""Traffic of clients towards clouds: who, by which protocol, to which domain."""
