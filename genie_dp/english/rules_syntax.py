"""Reads rule files: rewrites of English sentences, with an example for every rule.

    list ask: show me | give me | let me see
    once: request

    [request/what-are]
    if: query
    in: ^ (@ask) $x:np+det+pl $
    out: what are $x
    eg: show me my files => what are my files

docs/paraphrase.md describes the format. A file is checked as a whole: all mistakes are
raised together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from genie_dp.errors import GenieError, Problem, Span, did_you_mean

Kind = Literal["any", "query"]
KINDS: tuple[Kind, ...] = ("any", "query")
# condition -> whether it takes words in brackets
CONDITIONS: Mapping[str, bool] = {
    "any": False, "np": False, "vp": False, "one": False, "value": False, "number": False,
    "date": False, "text": False, "det": False, "bare": False, "sg": False, "pl": False,
    "mass": False, "single": False, "plain": False, "amount": False, "moment": False,
    "short": False, "has": True, "starts": True, "ends": True,
}  # fmt: skip
FUNCTIONS = (
    "gerund", "third", "past", "participle", "plural", "singular", "possessive", "bare",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PatternEdge:
    """A place without words: ^ sentence, ^^ command, $ end of the sentence, $$ of the phrase."""

    sign: Literal["^", "^^", "$", "$$"]


@dataclass(frozen=True, slots=True)
class PatternChoice:
    """Words, or one of several; `optional` ones may be missing, `name` refers to the match."""

    alternatives: tuple[str, ...]
    optional: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class WordCondition:
    """A condition on the words of a variable, or with `negated` its opposite."""

    name: str
    words: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """One or more words, as few as the rest of the pattern lets; no comma unless :any."""

    name: str
    conditions: tuple[WordCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Ref:
    """The text of a variable, changed by functions or a map from left to right."""

    name: str
    functions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agree:
    """A word that agrees in number with a variable: {is/are:x}, with a third form for mass."""

    forms: tuple[str, ...]
    name: str


PatternPart = PatternEdge | PatternChoice | Variable
OutputPart = str | Ref | Agree


@dataclass(frozen=True, slots=True)
class RewriteRule:
    """One rewrite.

    Attributes:
        id: group/name.
        pattern: of matching sentences.
        outputs: its replacements, of which one is drawn.
        kind: "query" where the program must show a result to the user.
        weight: how often it is drawn, against others that fit.
        unless: words, or pairs of words, of which a sentence must have none.
        examples: (sentence, result of the rule).
        span: where the rule is written.
    """

    id: str
    pattern: tuple[PatternPart, ...]
    outputs: tuple[tuple[OutputPart, ...], ...]
    kind: Kind
    weight: float
    unless: frozenset[str]
    examples: tuple[tuple[str, str], ...]
    span: Span

    @property
    def group(self) -> str:
        """Return the first part of the id."""
        return self.id.partition("/")[0]


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The rules of a file.

    Attributes:
        once: sets of groups; a sentence takes one rule of each set at most.
        maps: name -> word -> word, used as functions.
    """

    rules: tuple[RewriteRule, ...]
    once: tuple[frozenset[str], ...] = ()
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def parse_rules(text: str, file: str = "<rules>") -> RuleFile:
    """Return the rules of a text.

    Raises:
        GenieError: all mistakes, with their places (P110 to P117).

    >>> rules = parse_rules('''
    ... [compare/over]
    ... in: more than $v:number
    ... out: over $v
    ... eg: files with more than 5 pages => files with over 5 pages
    ... ''').rules
    >>> rules[0].id, rules[0].outputs
    ('compare/over', (('over', Ref(name='v', functions=())),))
    """
    reader = _RuleReader(file, text)
    reader.read()
    if reader.problems:
        raise GenieError(reader.problems, sources={file: text})
    return RuleFile(tuple(reader.rules), tuple(reader.once), reader.maps)


_HEAD = re.compile(r"\[([a-z][a-z0-9-]*/[a-z0-9][a-z0-9-]*)\]\s*$")
_LINE = re.compile(r"(in|out|eg|if|weight|once|list|map|unless)\b\s*([a-z-]*)\s*:\s*(.*?)\s*$")
_WORD = r"[^\s()\[\]{}$|=]+"
_CONDITION = r"!?[a-z]+(?:\([^()]*\))?"
_PATTERN = re.compile(
    rf"""(?P<edge>\^\^?|\$\$?(?![a-z]))
    | \$(?P<var>[a-z]+)(?:=\((?P<of>[^()]*)\)|(?P<cond>:{_CONDITION}(?:\+{_CONDITION})*))?
    | \[(?P<opt>[^\[\]]*)\] | \((?P<alt>[^()]*)\) | (?P<word>{_WORD})""",
    re.VERBOSE,
)
_OUTPUT = re.compile(
    rf"\$(?P<ref>[a-z]+)(?P<fun>(?:\.[a-z-]+)*)|\{{(?P<agree>[^{{}}:]+):(?P<of>[a-z]+)\}}"
    rf"|(?P<word>{_WORD})"
)


@dataclass(slots=True)
class _Draft:
    """A rule while its lines are read."""

    id: str
    span: Span
    pattern: tuple[PatternPart, ...] | None = None
    outputs: list[tuple[OutputPart, ...]] = field(default_factory=list)
    places: list[Span] = field(default_factory=list)
    kind: Kind = "any"
    weight: float = 1.0
    examples: list[tuple[str, str]] = field(default_factory=list)


class _RuleReader:
    def __init__(self, file: str, text: str):
        self.file = file
        self.text = text
        self.problems: list[Problem] = []
        self.rules: list[RewriteRule] = []
        self.once: list[frozenset[str]] = []
        self.lists: dict[str, tuple[str, ...]] = {}
        self.maps: dict[str, Mapping[str, str]] = {}
        self.unless: dict[str, frozenset[str]] = {}
        self.draft: _Draft | None = None
        self.seen: dict[str, Span] = {}

    def read(self) -> None:
        for number, line in enumerate(self.text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            head, body = _HEAD.match(line), _LINE.match(line)
            if head is not None:
                self._begin(head[1], Span(self.file, number, 1, number, len(head[0]) + 1))
            elif body is not None:
                self._line(body, number)
            else:
                hint = "a line begins with [group/name], in:, out:, eg:, if:, weight:, list, map.."
                self._problem("P110", f"cannot read {line.strip()!r}", number, 0, len(line), hint)
        self._end()

    # ------------------------------------------------------------------- one line

    def _line(self, body: re.Match[str], number: int) -> None:
        key, name, value = body[1], body[2], body[3]
        column = body.start(3)
        if key in ("list", "map", "unless"):
            self._define(key, name, value, number, column)
        elif key == "once":
            self.once.append(frozenset(value.split()))
        elif self.draft is None:
            hint = "begin a rule with [group/name]"
            self._problem("P110", f"{key}: stands outside of a rule", number, 0, len(key), hint)
        elif key == "in":
            self.draft.pattern = tuple(self._pattern(value, number, column))
        elif key == "out":
            self.draft.outputs.append(tuple(self._output(value, number, column)))
            self.draft.places.append(
                Span(self.file, number, column + 1, number, column + len(value) + 1)
            )
        else:
            self._setting(key, value, number, column)

    def _setting(self, key: str, value: str, number: int, at: int) -> None:
        assert self.draft is not None
        if key == "eg":
            before, arrow, after = value.partition(" => ")
            if not arrow:
                self._problem("P110", "expected sentence => sentence", number, at, len(value))
            self.draft.examples.append((before.strip(), after.strip()))
        elif key == "if":
            if value not in KINDS:
                hint = did_you_mean(value, KINDS) or f"one of {', '.join(KINDS)}"
                self._problem(
                    "P111", f"no kind of program: {value!r}", number, at, len(value), hint
                )
                return
            self.draft.kind = value
        elif re.fullmatch(r"\d+(?:\.\d+)?", value):
            self.draft.weight = float(value)
        else:
            self._problem("P110", f"expected a number, got {value!r}", number, at, len(value))

    def _define(self, key: str, name: str, value: str, number: int, at: int) -> None:
        items = [item.strip() for item in value.split("|")]
        if key == "list":
            self.lists[name] = tuple(self._members(items, number, at))
            return
        if key == "unless":
            self.unless[name] = frozenset(self._members(items, number, at))
            return
        pairs = [tuple(part.strip() for part in item.split("=")) for item in items]
        if any(len(pair) != 2 for pair in pairs):
            self._problem("P110", "expected word = word | word = word", number, at, len(value))
            return
        self.maps[name] = {pair[0]: pair[1] for pair in pairs}

    def _members(self, items: Sequence[str], number: int, at: int) -> Iterator[str]:
        """Yield alternatives; @name stands for those of a list, or the words of a map."""
        for item in items:
            if not item.startswith("@"):
                yield item
                continue
            named = {**self.lists, **self.maps}
            if item[1:] in named:
                yield from named[item[1:]]
            else:
                self._problem(
                    "P112",
                    f"no list {item!r}",
                    number,
                    at,
                    len(item),
                    did_you_mean(item[1:], named),
                )

    # ---------------------------------------------------------------- in: and out:

    def _pattern(self, text: str, number: int, at: int) -> Iterator[PatternPart]:
        for match in self._matches(_PATTERN, text, number, at):
            column = at + match.start()
            alternatives = match["opt"] or match["alt"] or match["of"]
            if match["edge"]:
                yield PatternEdge(match["edge"])  # type: ignore[arg-type] # the pattern allows no other
            elif match["word"]:
                yield PatternChoice((match["word"],))
            elif alternatives:
                items = [item.strip() for item in alternatives.split("|")]
                members = tuple(self._members(items, number, column))
                yield PatternChoice(members, optional=match["opt"] is not None, name=match["var"])
            elif match["var"]:
                conditions = (match["cond"] or "")[1:]
                yield Variable(match["var"], tuple(self._conditions(conditions, number, column)))

    def _conditions(self, text: str, number: int, at: int) -> Iterator[WordCondition]:
        for match in re.finditer(r"(!?)([a-z]+)(?:\(([^()]*)\))?", text):
            name, words = match[2], match[3]
            if name not in CONDITIONS:
                hint = did_you_mean(name, CONDITIONS) or f"one of {', '.join(CONDITIONS)}"
                self._problem("P113", f"no condition {name!r}", number, at, len(text), hint)
            elif CONDITIONS[name] != (words is not None):
                hint = f"write {name}(word|word)" if CONDITIONS[name] else f"write {name} alone"
                self._problem("P113", f"wrong use of {name}", number, at, len(text), hint)
            else:
                items = [item.strip() for item in words.split("|")] if words else []
                listed = tuple(self._members(items, number, at))
                yield WordCondition(name, listed, match[1] == "!")

    def _output(self, text: str, number: int, at: int) -> Iterator[OutputPart]:
        for match in self._matches(_OUTPUT, text, number, at):
            if match["word"]:
                yield match["word"]
            elif match["agree"]:
                yield Agree(tuple(match["agree"].split("/")), match["of"])
            else:
                functions = tuple(match["fun"].split(".")[1:])
                for name in functions:
                    if name not in FUNCTIONS and name not in self.maps:
                        names = (*FUNCTIONS, *self.maps)
                        hint = did_you_mean(name, names) or f"one of {', '.join(names)}"
                        column = at + match.start()
                        length = len(match[0])
                        self._problem("P114", f"no function {name!r}", number, column, length, hint)
                yield Ref(match["ref"], functions)

    def _matches(
        self, pattern: re.Pattern[str], text: str, number: int, at: int
    ) -> Iterator[re.Match[str]]:
        position = 0
        while position < len(text):
            if text[position] == " ":
                position += 1
                continue
            match = pattern.match(text, position)
            if match is None:
                rest = text[position:]
                self._problem("P110", f"cannot read {rest!r}", number, at + position, len(rest))
                return
            yield match
            position = match.end()

    # -------------------------------------------------------------- a whole rule

    def _begin(self, id: str, span: Span) -> None:
        self._end()
        if id in self.seen:
            message = f"{id!r} stands in line {self.seen[id].line} already"
            self.problems.append(Problem("P115", message, span, "give every rule its own name"))
        self.seen[id] = span
        self.draft = _Draft(id, span)

    def _end(self) -> None:
        draft, self.draft = self.draft, None
        if draft is None:
            return
        missing = [
            name
            for name, there in (
                ("in:", draft.pattern), ("out:", draft.outputs), ("eg:", draft.examples)
            )
            if not there
        ]  # fmt: skip
        if missing:
            message = f"{draft.id} has no {' and no '.join(missing)}"
            self.problems.append(Problem("P116", message, draft.span))
            return
        assert draft.pattern is not None
        self.problems.extend(_variable_problems(draft))
        self.rules.append(
            RewriteRule(
                draft.id, draft.pattern, tuple(draft.outputs), draft.kind, draft.weight,
                self.unless.get(draft.id.partition("/")[0], frozenset()), tuple(draft.examples),
                draft.span,
            )
        )  # fmt: skip

    def _problem(
        self, code: str, message: str, line: int, at: int, length: int, hint: str | None = None
    ) -> None:
        span = Span(self.file, line, at + 1, line, at + 1 + max(1, length))
        self.problems.append(Problem(code, message, span, hint, stage="syntax"))


def _variable_problems(draft: _Draft) -> Iterator[Problem]:
    """Yield variables that an output loses, repeats or invents: their text must be kept."""
    assert draft.pattern is not None
    variables = [part.name for part in draft.pattern if isinstance(part, Variable)]
    named = [part.name for part in draft.pattern if isinstance(part, PatternChoice) and part.name]
    if len(set(variables + named)) < len(variables + named):
        yield Problem("P117", f"{draft.id} gives two parts of its pattern one name", draft.span)
    for output, span in zip(draft.outputs, draft.places, strict=True):
        used = [part.name for part in output if isinstance(part, Ref)]
        agreed = [part.name for part in output if isinstance(part, Agree)]
        for name in variables:
            if used.count(name) != 1:
                message = f"${name} must stand in the output once, got {used.count(name)} times"
                yield Problem("P117", message, span, "the words of a variable are always kept")
        for name in dict.fromkeys((*used, *agreed)):
            if name not in variables and name not in named:
                hint = did_you_mean(name, variables + named)
                yield Problem("P117", f"the pattern has no ${name}", span, hint)
