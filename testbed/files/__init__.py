"""Files of a world: published prefixes in the providers' formats, domain lists."""
