"""An Internet with a root: delegations that work and fail, for the iterative resolver."""
