"""What a description leaves out, in plain words read off the tokens of the program."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from genie_dp.synthesis.describe_target import LOOSE

_WORDS = {
    "==": "is", "=": "is", ">": "is more than", "<": "is less than", ">=": "is at least",
    "<=": "is at most", "=~": "contains", "~=": "is in", "contains": "has",
    "in_array": "is one of", "starts_with": "starts with", "ends_with": "ends with",
    "monitor": "when this changes:", "edge": "once", "filter": "where",
    "attimer": "every day,", "timer": "again and again,", "aggregate": "the", "sum": "total",
    "avg": "average", "max": "largest", "min": "smallest", "count": "number",
    "new": "for each new", "policy": "allowed is",
    "start_of": "the start of the", "end_of": "the end of the",
    "base": "beginning", "interval": "every", "'": "", "~": "", '"': "",
}  # fmt: skip
_SILENT = frozenset(("(", ")", "[", "]", "{", "}", "=>", "now", "notify", "on", ",", ";", ":"))


def left_out(whole: Sequence[str], said: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of tokens that are not among those said, what is structure alone left out.

    >>> list(left_out("( @x.q ) filter param:a:Number > 5".split(), "( @x.q )".split()))
    [('filter', 'param:a:Number', '>', '5')]
    """
    matcher = SequenceMatcher(None, whole, said, autojunk=False)
    for tag, first, last, _, _ in matcher.get_opcodes():
        run = tuple(whole[first:last])
        if tag in ("delete", "replace") and any(token not in LOOSE for token in run):
            yield run


def plain(tokens: Sequence[str], value: Callable[[str], str]) -> str:
    """Return tokens in plain words; `value` says what stands for a placeholder.

    >>> plain("param:file_size:Measure(byte) > 5 unit:MB".split(), lambda token: token)
    'file size is more than 5 MB'
    """
    words = []
    for before, token in zip(("", *tokens), tokens, strict=False):
        if before == "=" and token.startswith("param:"):
            words.append("the")
        words.append(_word(token, value))
    return " ".join(word for word in words if word).strip(" ,")


def _word(token: str, value: Callable[[str], str]) -> str:
    if token in _SILENT:
        return ""
    if token in _WORDS:
        return _WORDS[token]
    if token.startswith("@"):
        class_name, _, function = token[1:].rpartition(".")
        return f"{function.replace('_', ' ')} ({class_name.rpartition('.')[2]})"
    if token.startswith(("param:", "attribute:")):
        return token.split(":")[1].replace("_", " ")
    if token.startswith(("enum:", "unit:", "location:")):
        return token.partition(":")[2].replace("_", " ")
    if token.startswith(("^^", "id:", "at:")):
        return ""
    return value(token)
