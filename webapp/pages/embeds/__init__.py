"""What other sites show: badges, and pages in a frame."""
