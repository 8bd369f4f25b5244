"""What an assistant can do: the functions of a skill library, with their types."""

import genie_dp as gd

library = gd.load_library("shipped")  # or your own folders: gd.load_library(["shipped", "mine"])
print(library)
for function in library.functions()[:3]:
    print(function.qualified, function.kind)
    for parameter in function.parameters:
        print("   ", parameter.name, parameter.type)
