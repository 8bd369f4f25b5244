"""Frequencies of the functions in private rows, released once with noise, and their rendering."""
