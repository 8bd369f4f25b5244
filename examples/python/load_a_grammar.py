"""How people say it: templates, put together with the skills that they speak of."""

import genie_dp as gd

grammar = gd.load_grammar("shipped", library="shipped")
print(grammar)
for reading in gd.explain("get my dropbox files", grammar).readings:
    print(reading.program)
