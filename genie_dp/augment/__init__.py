"""Makes training data of synthesized and paraphrased rows: real values, other words, typing."""
