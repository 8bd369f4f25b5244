"""Data sets: the formats of rows on disk."""
