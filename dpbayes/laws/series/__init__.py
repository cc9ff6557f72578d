"""The exact law of an exponential mechanism, without a list of candidates."""
