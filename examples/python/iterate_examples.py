"""Pairs of a sentence and its program, made as they are asked for."""

from collections import Counter

import genie_dp as gd

pairs = gd.synthesize("shipped", size=1_000, seed=1)
counts = Counter(name for example in pairs for name in example.functions)
print(counts.most_common(3))
