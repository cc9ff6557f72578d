"""Exact output distributions: what a mechanism returns, and with which probability."""
