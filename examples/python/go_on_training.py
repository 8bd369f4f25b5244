"""Train a parser, save and load it, and go on with more rows."""

from pathlib import Path
from tempfile import TemporaryDirectory

import genie_dp as gd

skills = Path(__file__).parents[2] / "thingpedia" / "com.gmail"  # or your own folder
pairs = gd.synthesize(skills, size=500, seed=1, max_depth=2)
with TemporaryDirectory() as folder:
    gd.train(pairs, library=skills, steps=40, seed=1).save(saved := Path(folder, "parser"))
    more = gd.paraphrase(pairs, number=1, seed=1)  # beside the old rows, or it forgets them
    parser = gd.train(pairs, more, library=skills, start=saved, steps=20, seed=1)
print(parser("show my unread emails"))
