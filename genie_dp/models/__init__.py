"""Training shared by all models: vocabularies, networks, search, the loop and its checkpoints."""
