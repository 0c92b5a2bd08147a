"""Management commands, where Django looks for them."""
