"""The parts of the stand-alone agent; ``screening.bundle`` joins them into one file."""
