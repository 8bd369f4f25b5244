"""What holds for all kinds of sources, and what is made of those of assistants."""

import functools
import itertools
import json
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import genie_dp as gd
from genie_dp import cli
from genie_dp.errors import GenieError, render_problem
from genie_dp.importers import registry
from genie_dp.importers.hassil import literal
from genie_dp.importers.registry import import_source, kind_of
from genie_dp.importers.source import ImportSource
from genie_dp.skills.words import join_tokens
from genie_dp.templates.ast import (
    CategoryWords,
    Child,
    Choice,
    Optional,
    Placeholder,
    QuotedWords,
    WordChoice,
)
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.grammar import Grammar
from tests.golden import DATA, cases
from tests.templates.template_files import written

KINDS = ("ovos", "alexa", "rasa", "dialogflow")


ALL = [(kind, case) for kind in KINDS for case in cases(f"imports/{kind}.txt")]


@pytest.mark.parametrize(("kind", "case"), ALL, ids=lambda given: str(given))
def test_files_become_tools_templates_rows_and_notes(kind, case, golden, tmp_path):
    source = ImportSource(str(written(tmp_path / "skill", case.input)))
    assert kind_of(source).name == kind
    try:
        imported = import_source(source)
    except GenieError as error:
        golden(case, "\n".join(render_problem(p, error.sources) for p in error.problems))
        return
    lines = []
    for tool in json.loads(imported.files["tools.json"])["tools"]:
        shape = tool["parameters"]
        given = (
            f"{name}{'*' if name in shape.get('required', ()) else ''}: {json.dumps(schema)}"
            for name, schema in shape["properties"].items()
        )
        lines.append(f"{tool['name']}({', '.join(given)})")
    for name, text in imported.files.items():
        if name.endswith(".genie") and name != "main.genie":
            kept = (line for line in text.split("\n") if line and not line.startswith("import"))
            lines += (line for line in kept if not line.startswith(("//", "category COMMAND")))
    for name in ("eval.tsv", "refused.tsv"):
        lines += imported.files.get(name, "").strip().split("\n")
    lines += [f"{note.sort}: {note.path}: {note.text}" for note in imported.notes]
    golden(case, "\n".join(line for line in lines if line))


LOCALES = {"home-assistant": "xx"}
FILES = {"openapi": "api.yaml", "tools": "tools.json"}
DOORS = [kind.name for kind in registry.KINDS if kind.name != "mcp"]


def source_of(kind: str, root: Path) -> Path:
    """Write a source of a kind, and return its place."""
    if kind == "home-assistant":
        return written(root, (DATA / "home_assistant" / "folder.txt").read_text())
    text = cases(f"imports/{'templates' if kind == 'tools' else kind}.txt")[0].input
    if kind not in FILES:
        return written(root, text)
    (root / FILES[kind]).write_text(text)
    return root / FILES[kind]


@pytest.mark.parametrize("kind", DOORS)
def test_a_project_of_each_kind_checks_and_synthesizes(kind, tmp_path, monkeypatch, capsys):
    (tmp_path / "skill").mkdir()
    source, locale = source_of(kind, tmp_path / "skill"), LOCALES.get(kind, "en")
    assert kind_of(ImportSource(str(source))).name == kind
    library = registry.library_of(ImportSource(str(source), locale))
    asked = [
        "grammar",
        "import",
        str(source),
        "--locale",
        locale,
        "--output",
        str(tmp_path / "home"),
    ]
    assert cli.run(asked) == 0
    assert cli.run(asked) == 1  # nothing is overwritten
    assert "R032" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.delenv("GENIE_DP_PROJECT", raising=False)
    capsys.readouterr()
    assert cli.run(["check"]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
    assert cli.run(["run", "--list"]) == 0
    assert cli.run(["synthesize", "--size", "300", "--output", "pairs.jsonl"]) == 0
    rows = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    called = {name for row in rows for name in row["functions"]} & set(library.tools)
    assert len(called) >= min(3, len(library.tools))
    assert library.tools == gd.load_library("tools.json").tools


def test_a_zip_is_read_as_its_folder(tmp_path):
    folder = written(tmp_path / "agent", cases("imports/dialogflow.txt")[0].input)
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as archive:
        for path in sorted(folder.rglob("*.json")):
            archive.write(path, path.relative_to(folder))
    one, other = (import_source(ImportSource(str(p))) for p in (folder, tmp_path / "agent.zip"))
    assert one.files == other.files
    assert one.notes == other.notes


def test_a_language_is_chosen_or_told(tmp_path):
    files = "@ locale/en-us/a.intent\nhello\n@ locale/de-de/a.intent\nguten tag\n"
    folder = written(tmp_path / "skill", files)
    german = import_source(ImportSource(str(folder), "de"))
    assert "'guten tag'" in german.files["a.genie"]
    assert german.locale == "de"
    with pytest.raises(GenieError, match=r"R085[\s\S]*it has de-de, en-us"):
        import_source(ImportSource(str(folder), "fr"))
    with pytest.raises(GenieError, match=r"R085[\s\S]*did you mean 'de-de'"):
        import_source(ImportSource(str(folder), "de-ch"))


def test_words_of_ours_are_english_alone(tmp_path):
    model = {"intents": [{"name": "AMAZON.HelpIntent", "samples": []}]}
    for name in ("en-US", "de-DE"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"languageModel": model}))
    english, german = (
        import_source(ImportSource(str(tmp_path / f"{name}.json"))) for name in ("en-US", "de-DE")
    )
    assert "AMAZON.HelpIntent.genie" in english.files
    assert "AMAZON.HelpIntent.genie" not in german.files
    assert german.notes[0].text == "no sentence says it: write templates"


def derived(grammar: Grammar) -> set[tuple[str, str, frozenset[tuple[str, str]]]]:
    """Return all sentences that templates derive: (words, tool, slots with their values)."""
    values: dict[str, list[tuple[str, str]]] = {}
    for template in grammar.templates:
        if grammar.categories[template.category].kind == "value":
            value = template.body_text.strip().removeprefix('"').removesuffix('"')
            for words, _ in _says(template.utterance, grammar, {}):
                shown = "{}" if "->" in value else value
                values.setdefault(template.category, []).append((words, shown))
    found = set()
    for template in grammar.templates:
        if template.category == "COMMAND":
            call = re.fullmatch(r"(?:\\.*?-> )?([\w.]+)\((.*)\)", template.body_text.strip())
            tool, arguments = call.groups()
            names = {pair.split(" = ")[0] for pair in arguments.split(", ") if pair}
            for words, slots in _says(template.utterance, grammar, values):
                assert {name for name, _ in slots} <= names
                found.add((words, tool, slots))
    return found


def _says(items, grammar: Grammar, values) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    said = {("", frozenset())}
    for item in items:
        said = {
            (f"{a} {b}".strip(), x | y)
            for (a, x), (b, y) in itertools.product(said, _item_says(item, grammar, values))
        }
    return said


def _item_says(item, grammar: Grammar, values):
    match item:
        case QuotedWords(parts):
            names = [part.name for part in parts if isinstance(part, Placeholder)]
            words = ("{}" if isinstance(p, Placeholder) else p.text for p in parts)
            return {(" ".join(words), frozenset((name, "{}") for name in names))}
        case CategoryWords(category):
            return {(words, frozenset()) for words in grammar.words[category]}
        case WordChoice(inner):
            return _says(inner, grammar, values)
        case Choice(alternatives):
            return set().union(*(_says(a, grammar, values) for a in alternatives))
        case Optional(inner):
            return {("", frozenset()), *_says(inner, grammar, values)}
        case Child(name, category):
            return {(words, frozenset({(name, value)})) for words, value in values[category]}


def derived_of(files: dict[str, str], root: Path) -> set:
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    inputs = load_inputs("calls", [root / "tools.json"], [root / "main.genie"])
    return derived(inputs.grammar)


WORDS = st.sampled_from(["play", "stop", "the", "a", "an", "light", "what's", "o", "next"])
LISTS = {"room": ["attic", "wine cellar"], "tune": ["ode", "a waltz", "an aria"]}
FREE = "note"
VOCABULARY = {"please": ["please", "would you (kindly|)"], "quick": ["quick", "[very] fast"]}


@st.composite
def templates(draw, depth: int = 2, slots: tuple[str, ...] = ("room", "tune", "note")) -> tuple:
    """Return a template and all that it says: sentences with slots in braces, and spaces."""
    text, said = "", [""]
    for _ in range(draw(st.integers(1, 3))):
        sort = draw(st.sampled_from(["word", "word", "slot", "either", "maybe", "ending", "rule"]))
        if sort in ("either", "maybe") and depth:
            inside = [draw(templates(depth - 1, slots)) for _ in range(1 + (sort == "either"))]
            inner = "|".join(one for one, _, _ in inside)
            ways = [way for _, ways, _ in inside for way in ways]
            part = f"({inner})" if sort == "either" else f"[{inner}]"
            ways += [""] if sort == "maybe" else []
            used = {slot for _, _, names in inside for slot in names}
        elif sort == "slot" and slots:
            slot = draw(st.sampled_from(slots))
            part, ways, used = f"{{{slot}}}", [f"{{{slot}}}"], {slot}
        elif sort == "ending":
            part, ways, used = "lamp(s|)[ on]", ["lamps", "lamp", "lamps on", "lamp on"], set()
        elif sort == "rule":
            name = draw(st.sampled_from([*VOCABULARY]))
            part, used = f"<{name}>", set()
            ways = {"please": ["please", "would you kindly", "would you"],
                    "quick": ["quick", "very fast", "fast"]}[name]  # fmt: skip
        else:
            word = draw(WORDS)
            part, ways, used = word, [word], set()
        slots = tuple(slot for slot in slots if slot not in used)
        text = f"{text} {part}"
        said = [f"{a} {b}" for a in said for b in ways]
    return text, said, {slot for way in said for slot in re.findall(r"{(\w+)}", way)}


def spoken(ways: list[str], tool: str) -> set[tuple[str, str, frozenset[tuple[str, str]]]]:
    """Return what sentences with slots in braces mean, each slot with every value."""
    found = set()
    for way in ways:
        slots = re.findall(r"{(\w+)}", way)
        for values in itertools.product(*(LISTS.get(slot, ["{}"]) for slot in slots)):
            text = way
            for slot, value in zip(slots, values, strict=True):
                text = text.replace(f"{{{slot}}}", value)
            found.add((join_tokens(text), tool, frozenset(zip(slots, values, strict=True))))
    return {one for one in found if one[0]}


@settings(max_examples=40, deadline=None)
@given(st.lists(templates(), min_size=1, max_size=3))
def test_a_sentence_is_derived_if_and_only_if_the_skill_says_it(tmp_path_factory, lines):
    root = tmp_path_factory.mktemp("skill")
    folder = root / "locale" / "en-us"
    folder.mkdir(parents=True)
    for suffix, lists in (("entity", LISTS), ("voc", VOCABULARY)):
        for name, values in lists.items():
            (folder / f"{name}.{suffix}").write_text("\n".join(values))
    text = "".join(f"{one}\n" for one, _, _ in lines)
    (folder / "do.it.intent").write_text(f"# a comment\n{text}")
    expected = {one for _, ways, _ in lines for one in spoken(ways, "do.it")}
    found = derived_of(import_source(ImportSource(str(root))).files, root)
    assert {one for one in found if one[0]} == expected


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_sentence_is_derived_if_and_only_if_the_model_says_it(tmp_path_factory, data):
    root = tmp_path_factory.mktemp("model")
    intents, expected, names = [], set(), ["room", "tune", FREE]
    for tool in ("First", "Second"):
        samples = []
        for _ in range(data.draw(st.integers(1, 3))):
            words = data.draw(st.lists(WORDS, min_size=1, max_size=3))
            for slot in data.draw(st.sets(st.sampled_from(names))):
                words.insert(data.draw(st.integers(0, len(words))), f"{{{slot}}}")
            samples.append(" ".join(words))
        expected |= spoken(samples, tool)
        slots = [{"name": n, "type": "AMAZON.SearchQuery" if n == FREE else n} for n in names]
        intents.append({"name": tool, "slots": slots, "samples": samples})
    types = [
        {"name": name, "values": [{"name": {"value": value}} for value in values]}
        for name, values in LISTS.items()
    ]
    model = {"invocationName": "x", "intents": intents, "types": types}
    path = root / "en-US.json"
    path.write_text(json.dumps({"interactionModel": {"languageModel": model}}))
    assert derived_of(import_source(ImportSource(str(path))).files, root) == expected


JUNK = st.sampled_from([None, True, 3, "x", "{", "[a](", [], {}, [3], {"name": 3}, ["{x"]])


def _places(value, place: tuple = ()):
    yield place
    if isinstance(value, dict):
        items = [*value.items()]
    else:
        items = [*enumerate(value)] if isinstance(value, list) else []
    for key, part in items:
        yield from _places(part, (*place, key))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_in_a_file_is_read_or_told(tmp_path_factory, data):
    kind = data.draw(st.sampled_from([kind for kind in DOORS if kind != "ovos"]))
    root = source_of(kind, tmp_path_factory.mktemp("broken"))
    known = (".json", ".yml", ".yaml")
    files = [p for p in sorted(root.rglob("*.*")) or [root] if p.suffix in known]
    path = data.draw(st.sampled_from(files))
    is_json = path.suffix == ".json"
    document = json.loads(path.read_text()) if is_json else yaml.safe_load(path.read_text())
    *place, last = data.draw(st.sampled_from([p for p in _places(document) if p]))
    functools.reduce(lambda part, key: part[key], place, document)[last] = data.draw(JUNK)
    path.write_text(json.dumps(document) if is_json else yaml.safe_dump(document))
    for skip_broken in (False, True):
        try:
            source = ImportSource(str(root), LOCALES.get(kind, "en"), skip_broken)
            imported = import_source(source, kind=kind)
        except GenieError as error:
            codes = {problem.code for problem in error.problems}
            assert all(re.fullmatch("R08[14567]|Z02.", code) for code in codes)
            continue
        read = tmp_path_factory.mktemp("read")
        for name, text in imported.files.items():
            (read / name).write_text(text, encoding="utf-8")
        load_inputs("calls", [read / "tools.json"], [read / "main.genie"])


@pytest.mark.parametrize("kind", DOORS)
def test_what_is_of_another_kind_is_told(kind, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04")
    for name in ("empty", "a.txt", "a.zip", "none"):
        with pytest.raises(GenieError, match="R08"):
            import_source(ImportSource(str(tmp_path / name)), kind=kind)


def test_a_damaged_zip_is_told(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.json", "{}")
        archive.writestr("intents/a.json", json.dumps({"name": "a" * 500}))
    data = bytearray(path.read_bytes())
    start = data.index(b"intents/a.json") + len("intents/a.json")
    data[start : start + 10] = b"\xff" * 10
    path.write_bytes(bytes(data))
    with pytest.raises(GenieError, match="R081"):
        import_source(ImportSource(str(path)), kind="dialogflow")


def test_literal_words_say_themselves():
    for text in ("What's up?", "half past 5 p.m., please", "a (b) [c] {d} <e> | f; ~ g"):
        assert literal(literal(text)) == literal(text)
