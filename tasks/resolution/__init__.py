"""DNS engines and name sources from options; the commands ``resolve`` and ``enumerate``."""
