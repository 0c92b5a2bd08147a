"""The bulk resolver: pending queries, retransmission, rate limits and congestion windows per
server.

Takes questions, gives one final result each.
"""
