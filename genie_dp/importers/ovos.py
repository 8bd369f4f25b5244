"""Skills of OVOS and Mycroft (`.intent`, `.entity`, `.voc`) for `genie-dp grammar import`.

    (turn|switch) on [the] {room} light     lamp.intent: a sentence a line, as Padatious reads it
    <cancel> the alarm                      any line of cancel.voc
    kitchen                                 room.entity: values of {room}; `##`: digits

An intent file becomes a tool, an entity a parameter. Intents that Adapt builds in Python from
`.voc` and `.rx` files are in no file, so these are left out.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, did_you_mean
from genie_dp.importers.assistant import TEXT, Assistant, IntentExample, chosen_locale
from genie_dp.importers.hassil import literal, read_template
from genie_dp.importers.source import ImportSource
from genie_dp.locale import DEFAULT
from genie_dp.located import read_json
from genie_dp.texts import read_text

_HOMES = ("locale", "vocab", "dialog", "regex")  # of a folder for each language
_LOCALE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_VOCABULARY = re.compile(r"<([\w. -]+)>")
_SLOT = re.compile(r"\{+\s*([\w.:-]+)\s*\}+")
_NAME = re.compile(r"\{(\w[\w.-]*)(?::[\w.-]+)?\}")
_MARKS = re.compile(r"[;\\~]|[.,:?!]+(?=[\s()\[\]|]|$)")
_COMMENT = re.compile(r"#+\s+[^\W\d_]|#+[^\W\d_]|//")


def is_ovos(source: ImportSource) -> bool:
    """Return whether a source is a folder that holds intent files."""
    folder = source.path
    return folder is not None and folder.is_dir() and any(folder.rglob("*.intent"))


def read_ovos(source: ImportSource) -> Assistant:
    """Return the contents of a skill of OVOS or Mycroft in one language.

    Raises:
        GenieError: R085, there are no intent files of that language.
    """
    folder = Path(source.given)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    by_locale: dict[str, list[Path]] = {}
    for path in files:
        by_locale.setdefault(_locale_of(path, folder, source.locale), []).append(path)
    locales = {
        name for name, paths in by_locale.items() if any(p.suffix == ".intent" for p in paths)
    }
    locale = chosen_locale(source, locales)
    name = folder.resolve().name
    skill = Assistant(locale.partition("-")[0].lower(), f"The skill {name} in {locale!r}")
    reader = _OvosSkillReader(skill, folder)
    reader.read(by_locale[locale])
    if skill.locale == DEFAULT:  # the language of the tests of old skills
        reader.read_tests(folder / "test" / "intent")
    return skill


def _locale_of(path: Path, folder: Path, default: str) -> str:
    """Return the language of a file; of files of no language's folder the one asked for."""
    parts = (folder.resolve().parent.name, folder.resolve().name, *path.relative_to(folder).parts)
    for home, name in zip(parts, parts[1:-1], strict=False):
        if home in _HOMES and _LOCALE.fullmatch(name):
            return name.replace("_", "-")
    return default if path.suffix in (".intent", ".entity", ".voc") else ""


class _OvosSkillReader:
    def __init__(self, skill: Assistant, folder: Path):
        self.skill, self.folder = skill, folder
        self.slots: set[str] = set()
        self.used: set[str] = set()  # names of .voc files

    def read(self, paths: list[Path]) -> None:
        self.vocabulary = {path.stem: path for path in paths if path.suffix == ".voc"}
        entities = [path for path in paths if path.suffix == ".entity"]
        for path in entities:
            self.entity(path)
        for path in paths:
            if path.suffix == ".intent":
                self.intent(path, {path.stem.lower() for path in entities})
        for name in sorted(self.used):
            path = self.vocabulary[name]
            ways = (template for template, _ in self.templates(path))
            self.skill.rules[name] = f"({'|'.join(ways)})"
            self.skill.places[name] = self.place(path)
        for path in paths:
            if path.suffix == ".voc" and path.stem not in self.used:
                self.skill.leave_out(self.place(path), "words that Adapt puts together in Python")
            elif path.suffix not in (".intent", ".entity", ".voc"):
                self.skill.leave_out(self.place(path), "it says nothing of what people say")
            elif path.suffix == ".entity" and path.stem.lower() not in self.slots:
                self.skill.leave_out(self.place(path), "no sentence has it")

    def place(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def lines(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield the places of the lines of a file that are no comments, and the lines."""
        place = self.place(path)
        text = self.skill.files[place] = read_text(path)
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip() and not _COMMENT.match(line.strip()):
                yield f"{place}:{number}", line.strip()

    def templates(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield the lines of a file in the syntax of hassil, each with its place."""
        for place, line in self.lines(path):
            template = self.template(place, line, self.vocabulary)
            if template is not None:
                yield template, place

    def intent(self, path: Path, known: set[str]) -> None:
        templates = [*self.templates(path)]
        for slot in (slot for template, _ in templates for slot in _NAME.findall(template)):
            self.slots.add(slot)
            if slot not in known:
                self.skill.lists.setdefault(slot, TEXT)
        place = self.place(path)
        self.skill.add_intent(self.skill.tool_name(path.stem, place), templates, place)

    def template(self, place: str, line: str, vocabulary: Mapping[str, Path]) -> str | None:
        """Return a line in the syntax of hassil; None for one that is left out."""
        if re.search(r"(?<!\S):0(?!\S)", line):
            self.skill.leave_out(place, f"`{line}`: any one word, and no slot is filled")
            return None
        text = _MARKS.sub(" ", _SLOT.sub(self.slot, line))
        for name in _VOCABULARY.findall(text):
            if name not in vocabulary:
                hint = did_you_mean(name, vocabulary) or "there is no such .voc file"
                self.skill.mistake(place, line, f"there is no {name}.voc", hint)
                return None
            self.used.add(name)
        try:
            read_template(text)
        except GenieError as error:
            [problem] = error.problems
            offset = problem.span.column - 1 if problem.span and text == line else None
            self.skill.mistake(place, line, problem.message, problem.hint, offset=offset)
            return None
        return text

    def slot(self, match: re.Match[str]) -> str:
        """Return a slot by its lower-case name; simplematch writes types as in {level:int}."""
        name, _, sort = match[1].lower().partition(":")
        if sort in ("int", "float"):
            form = "integer" if sort == "int" else "number"
            self.skill.lists.setdefault(f"_{sort}", {"format": form})
            return f"{{_{sort}:{name}}}"
        return f"{{{name}}}"

    def entity(self, path: Path) -> None:
        """Add the values of a slot: the lines of its file, `#` in them being digits."""
        name = path.stem.lower()
        values: dict[str, str] = {}
        fields: dict[str, Any] = {}
        for place, line in self.lines(path):
            if re.fullmatch(r"#+", line):
                largest = max(10 ** len(line) - 1, fields.get("range", {}).get("to", 0))
                fields["range"] = {"from": 0, "to": largest}
            elif re.fullmatch(r"#?#:##( ?\(?[ap]m.*)?", line):
                fields["format"] = "time"
            elif "#" in line:
                self.skill.leave_out(place, f"`{line}`: digits among words; any text may be said")
                fields["wildcard"] = True
            elif (template := self.template(place, line, {})) is not None:
                values.setdefault(literal(template) if template == line else template, line)
        if values:
            fields["values"] = list(values.values())
            text = f"{{{name}}} takes what its file lists, and nothing else"
            self.skill.note(self.place(path), text)
        self.skill.lists[name] = fields or TEXT
        self.skill.places[name] = self.place(path)

    def read_tests(self, folder: Path) -> None:
        """Add the sentences of tests: `{"utterance": .., "intent_type": .., "intent": {..}}`."""
        for path in sorted(folder.glob("*.json")):
            place = self.place(path)
            try:
                settings = read_json(read_text(path), place)
            except GenieError as error:
                self.skill.leave_out(place, f"a test: {error.problems[0].message}")
                continue
            test = settings if isinstance(settings, dict) else {}
            intent = str(test.get("intent_type", "")).rpartition(":")[2].removesuffix(".intent")
            slots = test.get("intent", {})
            if intent not in self.skill.tools or not isinstance(test.get("utterance"), str):
                self.skill.leave_out(place, "a test of no intent file")
            elif isinstance(slots, dict):
                of = {s: (s, str(v)) for s, v in slots.items() if s in self.skill.lists}
                name = self.skill.tools[intent]
                self.skill.examples.append(IntentExample(name, test["utterance"], of, place))
