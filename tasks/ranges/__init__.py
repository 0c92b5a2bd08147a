"""Range files: scheduled fetching, and zones of addresses."""
