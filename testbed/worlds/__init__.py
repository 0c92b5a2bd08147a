"""World files and the kinds of worlds: explicit, generated, with wildcards."""
