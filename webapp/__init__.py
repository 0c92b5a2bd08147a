"""The Django site: what is stored (``store``), shown (``pages``), served (``api``) and commanded
(``console``).
"""
