"""Deployment patterns of a survey, as tables over its lake: IMC'13 Tables 5 to 13, Figures 10 to
13.
"""
