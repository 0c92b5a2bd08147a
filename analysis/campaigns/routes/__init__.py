"""Routes of a campaign: the owner of each hop, the downstream ISP, the diversity of ISPs (Table
14).
"""
