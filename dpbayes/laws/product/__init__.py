"""The exact law of independent noise on all categories but the last."""
