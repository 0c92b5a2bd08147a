"""Sets of regions and what is known of clients go in; what living with each set is like comes out.

Who is served how well in which country, what fails with a region, what it costs, how far it is.
"""
