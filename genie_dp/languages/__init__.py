"""Target languages: ThingTalk and plain S-expressions, behind one protocol."""

from genie_dp.languages.base import Language, get_language, language_names, register


def _thingtalk() -> Language:
    from genie_dp.languages.thingtalk.language import ThingTalk

    return ThingTalk()


def _sexpr() -> Language:
    from genie_dp.languages.sexpr.language import SExpressions

    return SExpressions()


register("thingtalk", _thingtalk)
register("sexpr", _sexpr)

__all__ = ["Language", "get_language", "language_names", "register"]
