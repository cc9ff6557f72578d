"""A table of people: publish counts of it, or let it be asked, from one durable account.

table       one reader of CSV and Parquet; attributes, cubes, counts
units       who is protected: one record, or a person with at most so many records
plan        plan, cube and service files, checked before anything is opened
account     what may be spent on a table, what has been, and every answer so far
release     price, reserve, draw, keep, print
reading     what a noisy release says about the true counts
report      JSON, CSV and a page; forecast: the same before the release
"""
