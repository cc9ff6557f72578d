"""Arrays in, a figure and its alternative text out; the only place that imports
matplotlib.
"""
