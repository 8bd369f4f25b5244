"""What the functions of the type checker share: the library, and the mistakes found so far."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from genie_dp.errors import Problem, Span, did_you_mean, nearest
from genie_dp.languages.thingtalk.ast import Call
from genie_dp.languages.thingtalk.signatures import Signature, Signatures

MOST_NAMES = 6  # of a list in a hint: a line of text


@dataclass(slots=True)
class Report:
    """Collects mistakes.

    Attributes:
        signatures: the skill library.
        problems: the mistakes so far.
        has_event: whether `$event` means something at this place.
        parameters: names of lambdas' parameters, which stand for constants.
    """

    signatures: Signatures
    problems: list[Problem] = field(default_factory=list)
    has_event: bool = True
    parameters: set[str] = field(default_factory=set)

    def add(self, code: str, message: str, span: Span | None, hint: str | None = None) -> None:
        """Add a mistake."""
        self.problems.append(Problem(code, message, span, hint))

    @contextmanager
    def no_event(self) -> Iterator[None]:
        """Hold that nothing has happened yet, as inside of what makes events."""
        before, self.has_event = self.has_event, False
        yield
        self.has_event = before


def listed(names: Iterable[str], *, none: str = "none") -> str:
    """Return the first names of a list as text.

    >>> listed(["a", "b"]), listed([])
    ('a, b', 'none')
    """
    known = list(names)
    more = ", .." if len(known) > MOST_NAMES else ""
    return ", ".join(known[:MOST_NAMES]) + more if known else none


def name_hint(name: str, known: Sequence[str], what: str) -> str:
    """Return the nearest of the known names, or the list of them.

    >>> name_hint("sendr", ["sender", "date"], "outputs"), name_hint("x", ["date"], "outputs")
    ("did you mean 'sender'?", 'outputs: date')
    """
    return did_you_mean(name, known) or f"{what}: {listed(known)}"


def function_of(call: Call, report: Report) -> Signature | None:
    """Return the signature of a call's function; report it where there is none."""
    return find_function(call.selector.class_name, call.function, call.span, report)


def find_function(
    class_name: str, function: str, span: Span | None, report: Report
) -> Signature | None:
    """Return the signature of a function; report it where there is none."""
    signature = report.signatures.function(class_name, function)
    if signature is not None:
        return signature
    if not find_class(class_name, function, span, report):
        return None
    known = report.signatures.function_names(class_name)
    hint = did_you_mean(function, known)
    if hint is None:
        hint = _elsewhere(function, report) or f"functions of @{class_name}: {listed(known)}"
    report.add(
        "T003", f"expected a function of @{class_name}, got '@{class_name}.{function}'", span, hint
    )
    return None


def find_class(class_name: str, function: str | None, span: Span | None, report: Report) -> bool:
    """Tell whether the library has a class; report it where it has none."""
    known = report.signatures.class_names()
    if class_name in known:
        return True
    near = [f"@{name}" for name in nearest(class_name, known)[:2]]
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if hint is None and function is not None:
        hint = _elsewhere(function, report)
    report.add(
        "T001",
        f"expected a class of the library, got '@{class_name}'",
        span,
        hint or f"classes: {listed('@' + name for name in sorted(known))}",
    )
    return False


def _elsewhere(function: str, report: Report) -> str | None:
    """Return where the library has a function of that name."""
    signatures = report.signatures
    classes = [c for c in sorted(signatures.class_names()) if signatures.function(c, function)]
    if not classes:
        return None
    return f"there is {listed(f'@{name}.{function}' for name in classes)}"
