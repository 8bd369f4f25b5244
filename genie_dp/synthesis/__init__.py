"""From templates and skills to canonical (utterance, program) pairs, by randomized sampling.

The order of the files is the order of the work: `leaves` and `rules` compile templates, `pools`
samples partial derivations, `plan` lists the cells of the root and draws from them, `encode`
writes rows, `run` drops repeats and streams them out, `report` tells what came of it.
"""
