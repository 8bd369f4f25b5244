"""Lays out template files, and writes them shorter: `genie-dp grammar format`.

Statements are laid out one by one; comments stay where they are, and a statement that holds one is
left as it is written. Neither changes the meaning of a file.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from lark import Token, Tree

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.run.files import open_text
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import Stage
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import Grammar, holes_of, named_functions
from genie_dp.templates.inputs import MAIN, grammar_files, load_library
from genie_dp.templates.load import read_grammar
from genie_dp.templates.syntax import (
    STRING,
    StatementPlace,
    TemplateSource,
    parse_file,
    parse_statement,
    statements,
    without_comments,
)
from genie_dp.texts import read_source

WIDTH = 100
_INDENT, _DEEPER = "  ", "    "
_SPACE_OR_TEXT = re.compile(rf"(?P<space>\s+)|(?<=\w)'(?=\w)|{STRING}|\S", re.DOTALL)
_BEGINS = frozenset(("filter", "&&", "||", "on", "join", "=>"))
_ENDS = (",", "->", "→")
# Where a line may end: at a space outside of quotes and of the brackets of a request.
_WORD = re.compile(rf"(?:{STRING}|\[[^\]]*\]|\S)+")


# ------------------------------------------------------------------------------------ layout


def layout(text: str, *, file: str = "<templates>") -> str:
    """Return the text of a template file, laid out; doing it twice changes nothing more.

    Raises:
        GenieError: the mistakes in statements that cannot be read.

    >>> print(layout("NP:='my files' ->@x.list() ;// all\\n\\n\\nNP := ('a'|'b') -> @x.b();"))
    NP := 'my files' -> @x.list();  // all
    <BLANKLINE>
    NP := ('a' | 'b') -> @x.b();
    <BLANKLINE>
    """
    source = TemplateSource(file, text)
    _, problems = parse_file(text, file=file)
    if problems:
        raise GenieError(problems, sources={file: text})
    lines: list[str] = []
    position = 0
    for place in statements(source):
        _add_between(lines, text[position : place.start])
        lines.extend(_statement(source, place).split("\n"))
        position = place.end + 1
    _add_between(lines, text[position:])
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def _add_between(lines: list[str], text: str) -> None:
    """Add the comments between two statements; of empty lines, one at a time."""
    first, *rest = text.split("\n")
    if first.strip() and lines:
        lines[-1] += f"  {first.strip()}"
    else:
        rest = [first, *rest] if first.strip() else rest
    for line in rest[:-1] if rest and not rest[-1].strip() else rest:
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())


def _statement(source: TemplateSource, place: StatementPlace) -> str:
    text = source.text[place.start : place.end]
    if without_comments(text) != text:
        return f"{text.rstrip()};"
    tree = parse_statement(text)
    if tree.data == "category":
        category, *rest = map(str, filter(None, tree.children))
        return f"category {category} : {' '.join(rest)};"
    if tree.data != "template":
        return f"{_with_single_spaces(text)};"
    name, features, alternatives, body, guard, *annotations = cast("list[Any]", tree.children)
    head = f"{name}{_requests(features)} := {_alternatives(alternatives)}"
    if body is None:
        return "\n".join(_wrap(f"{head};", ""))
    parts: list[str] = [f"-> {_collapse(text, body)}"]
    if guard is not None:
        parts.append(f"if {_collapse(text, guard)}")
    parts += [_collapse(text, annotation) for annotation in annotations]
    parts[-1] += ";"
    whole = " ".join([head, *parts])
    if len(whole) <= WIDTH:
        return whole
    after = " ".join(parts)
    if len(_INDENT + after) <= WIDTH:
        parts = [after]
    return "\n".join([*_wrap(head, ""), *(line for p in parts for line in _wrap(p, _INDENT))])


def _wrap(text: str, indent: str) -> Iterator[str]:
    line: list[str] = []
    for word in _WORD.findall(text):
        while line and len(indent + " ".join([*line, word])) > WIDTH:
            cut = _best_cut([*line, word])
            yield indent + " ".join(line[:cut])
            line, indent = line[cut:], _DEEPER
        line.append(word)
    yield indent + " ".join(line)


def _best_cut(words: Sequence[str]) -> int:
    """Return how many words stay on a line: up to where a part of a body begins, if one does."""
    good = (
        number
        for number in range(len(words) - 1, 1, -1)
        if words[number].lstrip("(") in _BEGINS or words[number - 1].endswith(_ENDS)
    )
    return next(good, len(words) - 1)


def _with_single_spaces(text: str) -> str:
    """Return a text with one space for each run of spaces outside of quotes."""
    return _SPACE_OR_TEXT.sub(lambda m: " " if m["space"] else m.group(), text).strip()


def _collapse(text: str, tree: Tree[Token]) -> str:
    return _with_single_spaces(text[tree.meta.start_pos : tree.meta.end_pos])


def _requests(tree: Tree[Token] | None) -> str:
    if tree is None:
        return ""
    return f"[{', '.join(_request(cast('Tree[Token]', part)) for part in tree.children)}]"


def _request(tree: Tree[Token]) -> str:
    name, *values = tree.children
    return f"{name}={'|'.join(_item(v) if isinstance(v, Tree) else str(v) for v in values)}"


def _alternatives(tree: Tree[Token]) -> str:
    sequences = cast("list[Tree[Token]]", tree.children)
    return " | ".join(
        " ".join(_item(cast("Tree[Token]", item)) for item in sequence.children)
        for sequence in sequences
    )


def _item(tree: Tree[Token]) -> str:
    children = tree.children
    match tree.data:
        case "words":
            return str(children[0])
        case "child":
            name, target, requests = children
            return f"{name}:{target}{_requests(cast('Tree[Token] | None', requests))}"
        case "said":
            return str(children[0])
        case "determiner":
            return f"{children[0]}.{children[1]}"
        case "choice":
            return f"({_alternatives(cast('Tree[Token]', children[0]))})"
        case _:
            return f"({_alternatives(cast('Tree[Token]', children[0]))})?"


# ---------------------------------------------------------------------------------- shorter


Edit = tuple[int, int, str]


def shorten(
    text: str, language: Language, library: Library, grammar: Grammar, *, file: str = "<templates>"
) -> str:
    """Return the text of a template file without the parts that follow from the library.

    Placeholders lose the lambda that repeats their types, and functions the class that most bodies
    of the file name; it is named once, before the first template. Parts whose loss would change the
    meaning stay. `grammar` declares the categories.

    Raises:
        GenieError: the mistakes in statements that cannot be read.
    """
    parsed, problems = parse_file(text, file=file)
    if problems:
        raise GenieError(problems, sources={file: text})
    declared = {category.name: category for category in parsed.categories}
    grammar = replace(grammar, categories={**grammar.categories, **declared})
    templates = [template for template in parsed.templates if template.python is None]
    class_name = "" if parsed.classes or not language.has_skills else _most_named(templates)
    source = TemplateSource(file, text)
    edits: list[Edit] = []
    for template in templates:
        of_class = template.class_name or class_name
        holes = holes_of(template, grammar)
        short = language.bodies.shorten(template.body_text, holes, library, class_name=of_class)
        start = source.offset(template.body_span) if template.body_span else 0
        end = start + len(template.body_text)
        if short != template.body_text and source.text[start:end] == template.body_text:
            edits.append((start, end, short))
    if class_name:
        edits.insert(0, _for_class(source, class_name))
    return _apply(text, edits)


def _for_class(source: TemplateSource, class_name: str) -> Edit:
    """Return the edit that names the class: before the first template, and the comment above it."""
    before = first = 0
    for place in statements(source):
        first = place.start
        if parse_statement(source.text[place.start : place.end]).data == "template":
            break
        before = place.end + 1
    blank = source.text.rfind("\n\n", before, first)
    start = first if blank < 0 else blank + 2
    return start, start, f"for @{class_name};\n" + "\n" * (start < first)


def _most_named(templates: Sequence[Template]) -> str:
    """Return the class that more than one template names, and most of all; "" if there is none."""
    counts = Counter(
        class_name
        for template in templates
        for class_name in {n[1:].rpartition(".")[0] for n in named_functions(template)}
        if class_name
    )
    most = max(counts, key=lambda name: counts[name], default="")
    return most if counts[most] > 1 else ""


def _apply(text: str, edits: Sequence[Edit]) -> str:
    parts, position = [], 0
    for start, end, new in edits:
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


# ------------------------------------------------------------------------------------ stage


@dataclass(slots=True)
class FormatResult(Result):
    """The outcome of laying out files.

    Attributes:
        changed: the files whose text is another now, or would be, with the text before and after.
        looked_at: how many files there are.
        written: whether they were written.
        shows_diff: whether the changes are shown.
    """

    changed: dict[Path, tuple[str, str]] = field(default_factory=dict)
    looked_at: int = 0
    written: bool = True
    shows_diff: bool = False

    def findings(self) -> Iterator[str]:
        """Yield the lines of a unified diff, where it is shown."""
        for path, (before, after) in self.changed.items() if self.shows_diff else ():
            yield from difflib.unified_diff(
                before.splitlines(), after.splitlines(), str(path), str(path), lineterm=""
            )

    def lines(self) -> Iterator[str]:
        """Yield the findings, the files, and how many there are."""
        yield from self.findings()
        yield from map(str, self.changed)
        done = "laid out anew" if self.written else "would be laid out anew"
        yield f"{len(self.changed)} of {self.looked_at} files {done}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format(Stage):
    """Lay out template files, and write them shorter.

    Formats each FILE, and the .genie files of each DIR, in place. Comments stay; doing it twice
    changes nothing more. Only --shorten looks at --skills and --grammar: what a file says is the
    same after it.

    \b
    genie-dp grammar format thingpedia
    genie-dp grammar format --shorten --diff thingpedia/com.gmail
    """

    command = "format"

    paths: tuple[Path, ...] = setting(
        REQUIRED, "Files and folders.", is_argument=True, value="path", metavar="FILE|DIR.."
    )
    check: bool = setting(False, "Write nothing; exit code 1 if a file would change.", value="flag")
    diff: bool = setting(False, "Write nothing; show what would change.", value="flag")
    shorten: bool = setting(
        False,
        "Drop lambdas whose types the skills tell, and name the class of a file once (for @c;).",
        value="flag",
    )
    skills: tuple[Path, ...] = setting((), "Folders of skills.", value="paths")
    grammar: tuple[Path, ...] = ()
    language: str = DEFAULT_LANGUAGE
    skip_broken: bool = False

    def run(self, output: Output, *, progress: bool | None = None) -> FormatResult:
        """Lay out template files, and all those of folders.

        Raises:
            GenieError: mistakes in any of the files (none is written then), or no file (R025).
        """
        shorter = self._shortener() if self.shorten else None
        result = FormatResult(written=not (self.check or self.diff), shows_diff=self.diff)
        problems: list[Problem] = []
        sources: dict[str, str] = {}
        for path in _files_of(self.paths):
            result.looked_at += 1
            try:
                before = read_source(path, code="G007")
                text = shorter(before, str(path)) if shorter else before
                after = layout(text, file=str(path))
            except GenieError as error:
                problems += error.problems
                sources |= error.sources
                continue
            if after != before:
                result.changed[path] = before, after
        if problems:
            raise GenieError(problems, sources=sources)
        for path, (_, after) in result.changed.items() if result.written else ():
            with open_text(str(path)) as out:
                out.write(after)
        return result

    def _shortener(self) -> Callable[[str, str], str]:
        library = load_library(self.language, self.skills, skip_broken=self.skip_broken)
        return shortener(get_language(self.language), library, self.grammar)

    def exit_code_for(self, result: FormatResult) -> int:
        """Return 1 if files would change and `check` is set."""
        return 1 if self.check and result.changed else 0


def shortener(
    language: Language, library: Library, grammar: Sequence[Path] = ()
) -> Callable[[str, str], str]:
    """Return a function that shortens the text of a file; `grammar` is as in `load_inputs`.

    It raises G033 where most bodies of a file name a class that the library lacks.
    """
    declared, _ = read_grammar(grammar_files(grammar), language)
    known = {signature.qualified.rpartition(".")[0] for signature in library.functions()}

    def shorter(text: str, file: str) -> str:
        # A file with categories of its own is no part of that grammar.
        own, _ = read_grammar(Path(file), language)
        class_name = _most_named(own.templates) if language.has_skills else ""
        if class_name and f"@{class_name}" not in known:
            message = f"{file}: no skill @{class_name} is read, which tells types of its functions"
            raise GenieError(Problem("G033", message, hint="--skills DIR names its folder"))
        return shorten(text, language, library, own if own.categories else declared, file=file)

    return shorter


def _files_of(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        files = sorted(path.rglob("*.genie")) if path.is_dir() else [path]
        if not files:
            hint = f"template files end in .genie, such as {MAIN}"
            raise GenieError(Problem("R025", f"no template file in {path}", hint=hint))
        yield from files
