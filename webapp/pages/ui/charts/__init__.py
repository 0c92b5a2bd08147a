"""Charts and maps: options for the browser's charts, SVG geometry, the world map."""
