"""The account as the former query server uses it."""
