"""The control plane: models, services that write, selectors that read."""
