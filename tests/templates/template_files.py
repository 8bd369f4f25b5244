"""Writes the template files of a test case, and shows what is found in them."""

import re
from collections.abc import Iterable
from pathlib import Path

from genie_dp.errors import Problem

BASE = """\
category COMMAND : program root "commands";
category NP : query "noun phrases";
category VP : action "verb phrases";
category WP : stream "when phrases";
category PRED : predicate "conditions";
category SOURCE : source "outputs";
COMMAND := 'get' q:NP -> now => q => notify;
COMMAND := a:VP s:WP -> s => a;
COMMAND := 'with' o:SOURCE a:VP[gap='it'] -> now => o => a(o) if a.gap == o.key;
NP := 'my mail' -> @com.example.mail.inbox();
NP := 'mail in $f' ->
  \\(f : Entity(com.example.mail:folder)) -> @com.example.mail.inbox(folder = f);
NP := q:NP 'that' p:PRED -> q filter p if p.function == q.function;
VP := 'write to $x' -> \\(x : EmailAddress) -> @com.example.mail.send(to = x);
WP := 'when' q:NP 'changes' -> monitor q if q.is_monitorable;
PRED := '{is/are}' p:OUTPUT[pos=adjective, gap=v:VALUE] -> p == v if p.type == v.type;
SOURCE := 'the' o:OUTPUT[pos=base] 'of' q:NP -> q.o if o.function == q.function;
"""


def write_case(text: str, folder: Path) -> list[Path]:
    """Write the files of a case and return those to load.

    A line `%% name` begins a file; what is before the first is main.genie. Without a base.genie of
    its own, a case gets BASE.
    """
    first, *rest = re.split(r"^%% (\S+)(?:\n|\Z)", text, flags=re.MULTILINE)
    files = dict(zip(rest[::2], rest[1::2], strict=True))
    files = {"base.genie": BASE, "main.genie": first, **files}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return [Path("base.genie"), Path("main.genie")]


def described(problems: Iterable[Problem]) -> str:
    """Return each problem with its place and its hint, a line each."""
    lines = []
    for problem in problems:
        place = f"{problem.span}: " if problem.span else ""
        lines.append(f"{place}{problem.severity}[{problem.code}]: {problem.message}")
        if problem.hint:
            lines.append(f"  hint: {problem.hint}")
    return "\n".join(lines)


def written(root: Path, text: str) -> Path:
    """Write the files of a text, each after a line `@ its/path`; return their folder."""
    for block in re.split(r"(?m)^@ ", text)[1:]:
        name, _, content = block.partition("\n")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root
