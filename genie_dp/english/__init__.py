"""English for every library: forms of words, rules that rewrite sentences, everyday frames."""
