"""What programs do, in English."""

import genie_dp as gd

grammar = gd.load_grammar("shipped")
for program in (
    "now => @com.gmail.inbox() => notify",
    "monitor (@com.github.issues(repository='stanford/genie'^^com.github:repository)) => notify",
):
    print(gd.describe(program, grammar).sentence)
