"""Skeletons of a project, a skill, a grammar that work at once (`genie-dp new`).

Their texts are the files in the folder `new/`, where @NAME@ and @WORDS@ stand for the new thing.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.resources import data_folder
from genie_dp.run.files import exists_error, named_trouble
from genie_dp.run.stage import Result
from genie_dp.skills.model import last_name
from genie_dp.texts import read_text

_PART = re.compile(r"[a-z][a-z0-9_-]*")
_FUNCTION = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

_ALL_OF_THEM = frozenset(("all", "everything"))
# Words that begin something else in bodies of templates, or can name no parameter (T034).
_TAKEN = frozenset(
    ("agg", "attimer", "contains", "edge", "enum", "false", "monitor", "not", "notify", "now",
     "null", "timer", "true")
)  # fmt: skip


# ----------------------------------------------------------------------------------------- stage


@dataclass(frozen=True, slots=True)
class Skeleton(Result):
    """A folder that was written, the commands to go on with, and notes on guesses."""

    folder: Path
    commands: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        if self.notes:
            copied = [note for note in self.notes if "copied" in note]
            yield from copied
            yield f"read {self.folder / 'REVIEW.md'}: {len(self.notes)} notes of what was guessed"
        yield f"wrote {self.folder}; go on with"
        for command in self.commands:
            yield f"  {command}"


def new_project(
    name: str,
    parent: Path = Path(),
    *,
    functions: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> Skeleton:
    """Write a project on the shipped grammar: one skill, genie.yaml, a README with the commands.

    Args:
        name: of the project, and its folder.
        parent: the folder to put it in.
        functions: names of the functions of the skill, such as "loans" and "renew_loan"; without
            any, it is a diary that shows how a skill is written.
        files: further files, such as a schema for editors.

    Raises:
        GenieError: a name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "project", dots=False)
    skill, sentence = "com.example.diary", "add buy milk to my diary"
    texts = skill_files(skill, "diary")
    if functions:
        skill = f"com.example.{name}"
        texts, sentence = named_skill_files(
            skill, name.replace("_", " ").replace("-", " "), functions
        )
    contents = {
        **_fill_files("project", name, sentence),
        **{f"skills/{skill}/{path}": text for path, text in texts.items()},
        **(files or {}),
    }
    write_files(target, contents)
    check = ("genie-dp check",) if functions else ()
    return Skeleton(
        target, (f"cd {target}", *check, "genie-dp run", f'genie-dp parse "{sentence}"')
    )


def new_skill(name: str, parent: Path = Path("thingpedia")) -> Skeleton:
    """Write a skill: its class, templates and values.

    Args:
        name: of the class, and the skill's folder.
        parent: the folder of skills to put it in.

    Raises:
        GenieError: the name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "skill", dots=True)
    write_files(target, skill_files(name, last_name(name)))
    return _checked_by(target, f"--skills {target}")


def new_table_skill(
    name: str,
    source: Path,
    parent: Path = Path("thingpedia"),
    *,
    tables: Sequence[str] = (),
    values: Sequence[str] = (),
) -> Skeleton:
    """Write a skill whose queries are tables of data, with REVIEW.md for the guesses.

    Args:
        name: of the class, and the skill's folder.
        source: a file of `data_tables.read_tables`.
        parent: the folder of skills to put it in.
        tables: those of the source that are taken; empty for all.
        values: columns whose values are copied to lists, "all" or "none"; empty for names and
            short texts.

    Raises:
        GenieError: the name will not do (R031), the folder exists (R032), or of the source (R090
            to R093).
    """
    from genie_dp.importers.data_types import read_tables
    from genie_dp.importers.table_skill import skill_of_tables

    target = parent / _checked_name(name, "skill", dots=True)
    table_skill = skill_of_tables(name, read_tables(source, tables), source, values)
    write_files(target, table_skill.files)
    options = f"--skills {target} --grammar shipped/answers.genie"
    preview = f"genie-dp synthesize {options} --subset tables --preview 2"
    return Skeleton(target, (f"genie-dp check {options}", preview), tuple(table_skill.notes))


def new_grammar(name: str, parent: Path = Path("grammars")) -> Skeleton:
    """Write a grammar: a root category and a few construct templates.

    Args:
        name: of its folder.
        parent: the folder of grammars to put it in.

    Raises:
        GenieError: the name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "grammar", dots=False)
    write_files(target, {"main.genie": grammar_text()})
    return _checked_by(target, f"--grammar {target}")


def _checked_by(target: Path, options: str) -> Skeleton:
    commands = f"genie-dp check {options}", f"genie-dp synthesize {options} --preview 2"
    return Skeleton(target, commands)


def skill_files(name: str, words: str) -> Mapping[str, str]:
    """Return path -> text of a new skill.

    >>> sorted(skill_files("com.example.diary", "diary"))  # doctest: +NORMALIZE_WHITESPACE
    ['eval.tsv', 'paraphrases.tsv', 'skill.tt', 'templates.genie', 'values/note.tsv',
     'values/text.tsv']
    """
    return _fill_files("skill", name, words)


def named_skill_files(
    name: str, words: str, functions: Sequence[str]
) -> tuple[Mapping[str, str], str]:
    """Return path -> text of a new skill with functions of these names, and a sentence of it.

    A name that begins with a verb is an action, on a thing of that kind if the verb makes none;
    one that gets or looks for something, and any other name, is a query. Lists of values are still
        to be
    written: `check` asks for them.

    Raises:
        GenieError: a name will not do, or is given twice (R031).

    >>> files, sentence = named_skill_files("com.x", "x", ["fines", "pay_fine", "open_account"])
    >>> sentence, [line for line in files["templates.genie"].splitlines() if line[:2] == "VP"][:2]
    ('check my fines', ["VP := 'pay $x' -> pay_fine(fine = $x);", \
"VP := 'pay' ('the' | 'my') 'fine ${x:const}' -> pay_fine(fine = $x);"])
    """
    from genie_dp.english import forms as english
    from genie_dp.templates import cold_words
    from genie_dp.templates.cold_start import wording_of_name

    entities: dict[str, None] = {}
    parts: dict[str, str] = dict.fromkeys(("skill.tt", "templates.genie", "eval.tsv"), "")
    sentences = []
    for number, function in enumerate(functions):
        _check_function(function, functions[:number])
        first, *others = function.split("_")
        wording = wording_of_name(function, "")
        verb = wording.verb if wording and wording.origin != "noun" else ""
        if not verb and english.is_only_verb(first):
            verb, wording = first, None
        thing = others if verb else [first, *others]
        getting = cold_words.GETTING_VERBS | cold_words.SEEKING_VERBS
        if is_query := not verb or (verb in getting and bool(thing)):
            form, verb = "query", ""
        elif thing and verb not in cold_words.MAKING_VERBS and not _ALL_OF_THEM & {*thing}:
            form = "action"
        else:
            form = "plain_action"
            verb = " ".join([verb, *(wording.rest if wording else others)])
        noun = english.singular(" ".join(thing))
        filled = {"VERB": verb, "ONE": noun, "MANY": english.plural(noun), "FUNCTION": function}
        filled["A_ONE"] = f"{english.article(noun)} {noun}"
        filled["ID"] = (
            f"{noun}_thing".replace(" ", "_") if noun == function else noun.replace(" ", "_")
        )
        if form != "plain_action":
            entities[filled["ID"]] = None
        for path, text in _fill_files(f"function/{form}", name, words, **filled).items():
            parts[path] += f"\n{text}" if path == "skill.tt" and parts[path] else text
        named = f" the {noun} sunrise" if form == "action" else ""
        sentences.append(f"check my {filled['MANY']}" if is_query else verb + named)
    declared = "\n".join(f'  entity {e} #_[canonical="{e.replace("_", " ")}"];' for e in entities)
    marks = {"ENTITIES": declared, "FUNCTIONS": parts.pop("skill.tt").removesuffix("\n")}
    whole = _fill_files("functions", name, words, **marks)
    return {path: text + parts.get(path, "") for path, text in whole.items()}, sentences[0]


def _check_function(name: str, others: Sequence[str]) -> None:
    """Refuse names that no function can have (R031), or that are taken."""
    expected, hint = "", ""
    if not _FUNCTION.fullmatch(name):
        expected = "the name of a function in lower-case letters, digits and _"
        better = re.sub(r"\W+", "_", name.strip().lower()).strip("_0123456789")
        hint = f"for example: {better or 'renew_loan'}"
    elif name in _TAKEN:
        expected = "the name of a function that means nothing else in programs"
        hint = f"for example: my_{name}"
    elif name in others:
        expected, hint = "each function once", "leave one of them out"
    if expected:
        raise GenieError(Problem("R031", f"expected {expected}, got {name!r}", hint=hint))


def grammar_text() -> str:
    """Return the templates of a new grammar."""
    return _fill_files("grammar", "", "")["main.genie"]


def _fill_files(folder: str, name: str, words: str, **others: str) -> dict[str, str]:
    """Return path -> text of the files of a folder, with words in the place of their marks."""
    home = data_folder("importers/new") / folder
    files = {}
    for path in sorted(home.rglob("*.*")):
        text = read_text(path)
        for key, value in {**others, "NAME": name, "WORDS": words}.items():
            text = text.replace(f"@{key}@", value)
        files[path.relative_to(home).as_posix()] = text
    return files


def write_files(target: Path, files: Mapping[str, str]) -> None:
    """Write files into a new folder, all or none.

    Raises:
        GenieError: the folder exists; nothing is overwritten (R032).
    """
    if target.exists():
        hint = "give another name, or move the old one away"
        raise exists_error(target, code="R032", hint=hint)
    with named_trouble(target), _folder_when_complete(target) as partial:
        for name, text in files.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def _folder_when_complete(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that gets its name when the block ends well."""
    partial = target.with_name(f".{target.name}.partial")
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _checked_name(name: str, what: str, *, dots: bool) -> str:
    """Return the name, or raise GenieError with one that would do."""
    parts = name.split(".") if dots else [name]
    if all(_PART.fullmatch(part) for part in parts):
        return name
    expected = "lower-case letters, digits, - and _, beginning with a letter"
    if dots:
        expected += ", in parts separated by dots"
    better = suggest_name(name, dots=dots)
    hint = f"for example: genie-dp new {what} {better}" if better else None
    raise GenieError(Problem("R031", f"expected a name of {expected}, got {name!r}", hint=hint))


def suggest_name(name: str, *, dots: bool) -> str:
    """Return the name that is meant, or "" where nothing is left of it.

    >>> suggest_name("@Com.Example My-Notes", dots=True), suggest_name("my.project", dots=False)
    ('com.example_my-notes', 'my_project')
    """
    text = re.sub(r"[^a-z0-9_.-]+", "_", name.strip().lstrip("@").lower())
    parts = text.split(".") if dots else [text.replace(".", "_")]
    cleaned = (re.sub(r"^[^a-z]+", "", part).strip("_-") for part in parts)
    return ".".join(part for part in cleaned if part)
