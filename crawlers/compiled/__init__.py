"""The compiled part of a bulk run: most questions and replies, without a Python object for each."""
