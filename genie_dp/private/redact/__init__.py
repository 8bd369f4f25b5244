"""Private text made ready for training: data points, duplicates, and secrets replaced by a mask."""
