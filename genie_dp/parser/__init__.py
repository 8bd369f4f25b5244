"""From a sentence to a program: reading input, training, constrained decoding, prediction."""
