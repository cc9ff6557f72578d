"""Notebooks run with checked parameters, in forks; what came out, set on pages and
verified.
"""
