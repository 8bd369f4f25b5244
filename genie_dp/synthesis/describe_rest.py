"""What a description leaves out, in plain words read off the tokens of the program."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from genie_dp.synthesis.describe_target import LOOSE

Fact = tuple[str, str, str]
"""(function, what is said of it, tokens)."""

_WORDS = {
    "==": "is", "=": "is", ">": "is more than", "<": "is less than", ">=": "is at least",
    "<=": "is at most", "=~": "contains", "~=": "is in", "contains": "has",
    "in_array": "is one of", "starts_with": "starts with", "ends_with": "ends with",
    "monitor": "when this changes:", "edge": "once", "filter": "where",
    "attimer": "every day,", "timer": "again and again,", "aggregate": "the", "sum": "total",
    "avg": "average", "max": "largest", "min": "smallest", "count": "number",
    "new": "for each new", "policy": "allowed is", "=>": ";",
    "start_of": "the start of the", "end_of": "the end of the",
    "unit:mon": "month", "unit:h": "hours", "unit:min": "minutes", "unit:s": "seconds",
    "base": "beginning", "interval": "every", "'": "", "~": "", '"': "",
}  # fmt: skip
_SILENT = frozenset(("(", ")", "[", "]", "{", "}", "now", "notify", "on", ",", ";", ":"))


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


def facts(tokens: Sequence[str]) -> set[Fact]:
    """Return what a program says of each of its functions: roles, arguments, conditions.

    A program whose facts are among those of another says a part of it, and nothing else.

    >>> sorted(facts("now => @x.q => @x.a param:b:Number = 1".split()))
    [('@x.a', '=', 'param:b:Number = 1'), ('@x.a', 'action', ''), ('@x.q', 'query', '')]
    """
    found: set[Fact] = set()
    for number, rule in enumerate(" ".join(tokens).split(" ; ")):
        of_rule = _Facts(rule.split()).found
        found |= {
            (function, f"{kind} {number or ''}".strip(), said) for function, kind, said in of_rule
        }
    return found


class _Facts:
    """Reads the tokens from left to right: conditions and arguments follow their function."""

    def __init__(self, tokens: Sequence[str]):
        self.found: set[Fact] = set()
        self.function, self.kind = "", ""
        self.clause: list[str] = []
        self.edges = False
        segments = list(_segments(tokens))
        for number, segment in enumerate(segments):
            is_last = number == len(segments) - 1
            role = "action" if is_last else "query" if number else f"after {segment[0]}"
            self.edges = segment[:1] == ["edge"]
            if is_last and segment == ["notify"]:
                self.found.add(("", "notify", ""))
            for index, token in enumerate(segment):
                self._token(token, segment[index + 1 : index + 3], role)
            self._end()

    def _token(self, token: str, after: Sequence[str], role: str) -> None:
        if token.startswith("@"):
            self._end()
            self.function = token
            self.found.add((token, role, ""))
        elif token in ("filter", "aggregate", "policy") or (token == "on" and after):
            self._end()
            is_edge = self.edges and token == "on" and after[1:] not in (["="], ["["])
            self.kind = "edge" if is_edge else token
        elif token == "and" and self.kind:
            kind = self.kind
            self._end()
            self.kind = kind
        elif token in ("(", ")", ":", "of", "join"):
            self._end()
        else:
            self._word(token)

    def _word(self, token: str) -> None:
        is_name = token.startswith(("param:", "attribute:"))
        if is_name and (not self.kind or (self.kind == "=" and len(self.clause) > 2)):
            self._end()
            self.kind = "="
        if self.kind:
            self.clause.append(token)

    def _end(self) -> None:
        if self.clause:
            owner = "" if self.kind in ("aggregate", "policy") else self.function
            self.found.add((owner, self.kind, " ".join(self.clause)))
        self.kind, self.clause = "", []


def _segments(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Yield what stands between the arrows."""
    segment: list[str] = []
    for token in tokens:
        if token == "=>":
            yield segment
            segment = []
        else:
            segment.append(token)
    yield segment


def plain(tokens: Sequence[str], value: Callable[[str], str]) -> str:
    """Return tokens in plain words; `value` says what stands for a placeholder.

    >>> plain("param:file_size:Measure(byte) > 5 unit:MB".split(), lambda token: token)
    'file size is more than 5 MB'
    """
    words: list[str] = []
    for before, token, after in zip(("", *tokens), tokens, (*tokens[1:], ""), strict=False):
        if token.startswith("param:") and after == "=" and words:
            words.append("with" if before.startswith("@") else "and")
        if before == "=" and token.startswith("param:"):
            words.append("the")
        word = _word(token, value)
        if token == "=>" and words:
            words[-1] += word
        elif word:
            words.append(word)
    return " ".join(words).strip(" ,;")


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
