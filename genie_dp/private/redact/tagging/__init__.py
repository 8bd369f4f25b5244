"""A detector that is learned from sentences which are made, so that their secrets are known."""
