"""From reports to verdicts: Algorithm 1, the cause, calibration, the best instances to keep."""
