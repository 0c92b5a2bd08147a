"""One module per provider: parse its published range file, or raise ``BadInput`` with the row."""
