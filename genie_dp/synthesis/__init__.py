"""From templates and skills to canonical (utterance, program) pairs, by randomized sampling.

The order of the work: `compiler` makes rules and leaves of templates, `assembly` the function that
joins the pieces of a rule, `engine` samples partial derivations into `pools`, `plan` draws from the
`cells` of the root, `blocks` writes rows, `rows` drops repeats, `run` streams them out, `report`
summarizes the run. Backwards, `explain` and `chart` read sentences, and `describe` renders
programs as sentences.
"""
