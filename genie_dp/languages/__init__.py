"""Target languages: ThingTalk, S-expressions and calls of tools, behind one protocol."""

from genie_dp.languages.base import Language, get_language, language_names, register


def _thingtalk() -> Language:
    from genie_dp.languages.thingtalk.language import ThingTalk

    return ThingTalk()


def _sexpr() -> Language:
    from genie_dp.languages.sexpr.language import SExpressions

    return SExpressions()


def _calls() -> Language:
    from genie_dp.languages.calls.language import Calls

    return Calls()


register("thingtalk", _thingtalk)
register("sexpr", _sexpr)
register("calls", _calls)

__all__ = ["Language", "get_language", "language_names", "register"]
