"""Notebooks themselves: their files and declared parameters, sessions, provenance."""
