"""HTML pages, one package per subject; ``ui`` holds what pages share."""
