"""The canonical form of programs that answers and paraphrases hold."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from genie_dp.cli.inputs import load_library_of
from genie_dp.languages import get_language
from genie_dp.paraphrase.shown import canonical_tokens


def canonical_of(options: Mapping[str, Any]) -> Callable[[str], str]:
    """Return the canonical form of programs; the library is read when one is asked for."""

    @cache
    def loaded() -> Callable[[str], str]:
        language = get_language(options["language"])
        library = load_library_of(
            language.name, options["skills"], skip_broken=options["skip_broken"]
        )
        return canonical_tokens(language, library)

    return lambda program: loaded()(program)
