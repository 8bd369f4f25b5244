"""Private tables: what rows are like, as metadata, released once with noise and sampled from."""
