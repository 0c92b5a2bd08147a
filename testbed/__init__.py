"""The emulated Internet with known truth; see README.md."""
