"""One module per probe: ``NAME``, ``VERSION``, ``Config``, ``run(target, config, clock)``."""
