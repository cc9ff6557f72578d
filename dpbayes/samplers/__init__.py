"""Exact draws from fair bits: whole numbers, and candidates by ball arithmetic; no
floats.
"""
