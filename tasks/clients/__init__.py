"""Clients of a deployment: where the requests of logs, exports and beacons come from."""
