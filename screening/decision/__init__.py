"""From reports to verdicts: Algorithm 1, the cause, calibration, selection of the best instances."""
