"""What people ask for, counted once with noise and within a budget, steers synthesis."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import genie_dp as gd

row = {"utterance": "what is new", "program": "now => @com.twitter.home_timeline => notify"}
with TemporaryDirectory() as folder:
    (rows := Path(folder, "private.jsonl")).write_text(f"{json.dumps(row)}\n" * 300)  # invented
    with gd.private.Ledger.init(rows, epsilon=3, delta=1e-6, unit="utterance") as ledger:
        prior = ledger.prior(epsilon=1, library="shipped", estimated_units=300)
print(repr(prior), gd.synthesize("shipped", prior=prior, size=200).preview(3), sep="\n")
