"""How good a parser is for what people really said: the eval.tsv of skills."""

from pathlib import Path

import genie_dp as gd

skills = Path(__file__).parents[2] / "thingpedia" / "com.gmail"  # or your own folder
pairs = gd.synthesize(skills, size=1_000, seed=1, max_depth=2)
parser = gd.train(pairs, library=skills, steps=60, seed=1)
evaluation = gd.evaluate(parser, skills, training=[pairs])
print(evaluation.outcomes)  # what its users meet
print(f"{evaluation.accuracy:.2f}", evaluation.interval, evaluation.tiers)  # its first programs
print(evaluation)
