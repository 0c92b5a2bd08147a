"""Models of round-trip times for clients without measurements.

Takes measured pairs of places; gives a round trip for any client and region of known places. May
import ``analysis.impact.places`` and ``distances``, ``analysis.optimization`` and ``core``.
"""
