"""From a folder of skills to a parser that understands them."""

from pathlib import Path

import genie_dp as gd

skills = Path(__file__).parents[2] / "thingpedia" / "com.gmail"  # or your own folder
pairs = gd.synthesize(skills, size=1_000, seed=1, max_depth=2)
parser = gd.train(pairs, library=skills, steps=60, seed=1)  # 3_000 for one to use
print(parser("show my unread emails"))
