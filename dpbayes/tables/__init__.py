"""A table of people: publish it, ask it."""
