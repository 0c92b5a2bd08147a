"""Survey reports: tables with headlines, consistency checks, method notes, published figures
beside them.
"""
