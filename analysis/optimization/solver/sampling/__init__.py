"""The search of problems of many points by the steps of a sample of them."""
