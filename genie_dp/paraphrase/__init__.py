"""From synthesized sentences to natural sentences: choose, show, collect, check."""
