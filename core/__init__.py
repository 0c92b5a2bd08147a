"""Shared nouns of every stage; standard library only."""
