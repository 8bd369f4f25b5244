"""Private tables: the metadata of rows, released once with noise and sampled from."""
