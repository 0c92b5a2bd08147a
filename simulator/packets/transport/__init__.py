"""Senders and receivers: congestion control, loss recovery, timers, acknowledgements."""
