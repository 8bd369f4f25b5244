"""From templates and skills to canonical (utterance, program) pairs, by randomized sampling.

The order of the work: `compiler` makes rules and leaves of templates, `assembly` the function that
joins the pieces of a rule, `engine` samples partial derivations into `pools`, `plan` draws from the
`cells` of the root, `blocks` writes rows, `rows` drops repeats, `run` streams them out, `report`
tells what came of it. Backwards, `explain` and `chart` read sentences, `describe` says programs.
"""
