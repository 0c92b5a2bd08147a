"""Django's PostgreSQL backend with a check of pooled connections that asks the server nothing."""
