"""What only the pages of the book need: experiments, lemmas, closed forms, broken
mechanisms.
"""
