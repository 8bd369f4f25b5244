"""Requests that no template covers, released once with noise: the gap report."""
