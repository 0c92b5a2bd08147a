"""An emulated network of Linux namespaces with known routes, delays and loss."""
