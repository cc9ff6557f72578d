"""The exact law of noise on the lattice of whole vectors that sum to zero."""
