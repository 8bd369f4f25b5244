"""A look at what templates give, and a file of it."""

import sys

import genie_dp as gd

pairs = gd.synthesize("shipped", size=200, seed=2, max_depth=2, include=("@com.gmail.*",))
print(pairs.preview(5))
if len(sys.argv) > 1:
    print(pairs.save(sys.argv[1], overwrite=True))
