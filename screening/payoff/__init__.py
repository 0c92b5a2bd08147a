"""What screening gains: completion times at any share of bad instances."""
