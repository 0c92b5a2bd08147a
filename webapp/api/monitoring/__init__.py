"""Health of this installation: liveness, readiness, Prometheus metrics, identifiers of requests.

Outside of ``/api/``, since load balancers and Prometheus expect them at fixed paths.
"""
