"""Result files of other tools and networks as samples and paths.

Each reader takes a file of one format and gives Arrow tables with what could not be read.
"""
