"""The front page, the site's navigation, its search, and the card of one domain."""
