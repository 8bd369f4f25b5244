"""From synthesized sentences to sentences as people say them: choose, show, collect, check."""
