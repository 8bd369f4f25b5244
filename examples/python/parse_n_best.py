"""The programs that a sentence may mean, the most probable first."""

from pathlib import Path

import genie_dp as gd

skills = Path(__file__).parents[2] / "thingpedia" / "com.gmail"  # or your own folder
pairs = gd.synthesize(skills, size=500, seed=1, max_depth=2)
parser = gd.train(pairs, library=skills, steps=80, seed=1)  # or gd.Parser.from_pretrained(folder)
for answer in parser("show my unread emails", n=3).answers:
    print(f"{answer.confidence:.2f}", answer.code)
