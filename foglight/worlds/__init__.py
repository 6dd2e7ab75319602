"""What may be true: sets of worlds that agree with what somebody has observed."""
