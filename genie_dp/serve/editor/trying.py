"""Tries templates in a process of its own: `python -m genie_dp.serve.editor.trying`.

It reads from standard input the value of `bench.Trial.input`, and writes a TriedTemplates. The
server that starts it is all that it listens to.
"""

import contextlib
import os
import pickle
import sys

from genie_dp.languages import get_language
from genie_dp.synthesis.trials import try_templates


def main() -> None:
    """Try all templates of standard input."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(10)  # whoever types comes first
    name, library, grammar, keep = pickle.load(sys.stdin.buffer)
    language = get_language(name)
    if not language.has_skills:  # paths of declarations, which are read in a moment
        library = language.load_declarations(library)
    tried = try_templates(grammar, language, library, keep=keep)
    sys.stdout.buffer.write(pickle.dumps(tried))


if __name__ == "__main__":
    main()
