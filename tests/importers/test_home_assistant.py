"""Sentence templates of Home Assistant: what they say, and what the importer makes of them."""

import json
import re
import sys
from pathlib import Path

import pytest

import genie_dp as gd
from genie_dp.errors import GenieError, render_problem
from genie_dp.importers.hassil import UtteranceWriter, read_template
from genie_dp.importers.home_assistant import read_home_assistant
from genie_dp.importers.project import run
from genie_dp.importers.registry import import_source, kind_of
from genie_dp.importers.source import ImportSource
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.templates.ast import CategoryWords, Child, write_items
from genie_dp.templates.cache import load_inputs
from tests.golden import DATA, cases
from tests.templates.template_files import written

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import bridges

FOLDER = "home_assistant"

# ------------------------------------------------------------------------------------ templates


@pytest.mark.parametrize("case", cases("home_assistant/utterances.txt"), ids=str)
def test_templates_become_utterances(case, golden):
    text, *given = case.input.split("\n")
    rules = dict(line[1:].split("> ", 1) for line in given)
    writer = UtteranceWriter(
        lambda name: read_template(rules[name]),
        lambda reference: CategoryWords(reference.name),
        lambda reference: Child(reference.slot, reference.name),
    )
    golden(case, write_items(writer.utterance(read_template(text))))


@pytest.mark.parametrize("case", cases("home_assistant/mistakes.txt"), ids=str)
def test_mistakes_in_templates_have_their_place(case, golden):
    with pytest.raises(GenieError) as caught:
        read_template(case.input)
    [problem] = caught.value.problems
    golden(case, render_problem(problem, caught.value.sources))


LISTS = {
    "minutes": {"range": {"from": 1, "to": 100}},
    "hours": {"range": {"from": 1, "to": 24}},
    "level": {"range": {"from": 0, "to": 100}},
    "zimmer": {"values": ["küche", "bad", "gäste wc"]},
    "hue": {"values": ["red"]},
}


JOINTS = [
    block.strip().split("\n")
    for block in (DATA / FOLDER / "joints.txt").read_text().split("\n", 1)[1].split("\n\n")
]


def merged_file(folder: Path, **content: object) -> str:
    """Write the sentences of a language in one file and return its path."""
    path = folder / f"{content['language']}.json"
    path.write_text(json.dumps(content, indent=1))
    return str(path)


@pytest.mark.parametrize("block", JOINTS, ids=lambda block: block[0])
def test_words_with_joints_are_derived_as_hassil_matches_them(block, tmp_path):
    template, *sentences = block
    intents = {"Do": {"data": [{"sentences": [template]}]}}
    content = {"language": "en", "intents": intents, "lists": LISTS}
    run(ImportSource(merged_file(tmp_path, **content)), tmp_path / "home")
    grammar = gd.load_grammar(tmp_path / "home" / "main.genie", tmp_path / "home" / "tools.json")
    derived = [f"{'-+'[bool(gd.explain(s[2:], grammar).readings)]} {s[2:]}" for s in sentences]
    assert derived == sentences
    hassil = pytest.importorskip("hassil")
    known = hassil.Intents.from_dict(content)
    matched = [f"{'-+'[bool(hassil.recognize(s[2:], known))]} {s[2:]}" for s in sentences]
    assert matched == sentences


HOME = bridges.Home(
    {"lamp": ("Old Lamp",), "lantern": ("Storm Light",), "flag": ("Banner",), "area": ("Attic",)},
    area="Porch",
)
MEANINGS = (DATA / FOLDER / "meanings.txt").read_text(encoding="utf-8").splitlines()
SENTENCES = [line.partition(" ->")[0] for line in MEANINGS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    text = (DATA / FOLDER / "folder.txt").read_text(encoding="utf-8")
    return written(tmp_path_factory.mktemp("assistant"), text)


@pytest.fixture(scope="module")
def project(folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("imported") / "home"
    run(ImportSource(str(folder), "xx"), output)
    return output


@pytest.fixture(scope="module")
def matcher(project):
    return bridges.TemplateMatcher(project)


def test_a_sentence_means_what_the_templates_say(matcher):
    for line, sentence in zip(MEANINGS, SENTENCES, strict=True):
        calls = {
            f"{name}({', '.join(sorted(f'{slot}={value}' for slot, value in slots))})"
            for name, slots in matcher.meanings([sentence], HOME)
        }
        assert f"{sentence} -> {' | '.join(sorted(calls))}".rstrip() == line


def test_slots_become_parameters_with_their_types(project):
    tools = {t["name"]: t for t in json.loads((project / "tools.json").read_text())["tools"]}
    on, set_ = (tools[name]["parameters"]["properties"] for name in ("LampOn", "LampSet"))
    assert tools["LampOn"]["description"] == "Lights a lamp"
    assert on["name"] == {
        "anyOf": [{"type": "string", "x-entity": kind} for kind in ("lamp", "lantern", "flag")],
        "description": "Which lamp",
    }
    assert on["domain"] == {"enum": ["lamp"]}
    assert on["context"]["enum"] == ["area"]
    assert set_["glow"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert set_["warmth"] == {
        "type": "number", "minimum": 10, "maximum": 30.5, "multipleOf": 0.5
    }  # fmt: skip
    assert set_["tint"] == {"type": "integer", "minimum": 100, "maximum": 900, "multipleOf": 50}
    assert set_["dimmer"]["description"].startswith("slot `glow`, of which it is -1 times")
    assert set_["hue"] == {"enum": ["red", "blue", "amber", "drab"]}


def test_templates_can_be_read_by_people_and_by_us(project):
    inputs = load_inputs("calls", [project / "tools.json"], [project / "main.genie"])
    text = (project / "LampOn.genie").read_text()
    assert "// sentences/xx/LampOn/here.yaml:data.0, here\n" in text
    assert "COMMAND := kindle (the)? ('lamps' | 'lamp') ('here')?" in text
    rules = compile_inputs(inputs).rules["COMMAND"]
    assert len(rules) < 2 * len(inputs.grammar.templates)  # words are drawn, not multiplied
    words = (project / "words.genie").read_text()
    assert "kindle := 'kindle' | 'light' ('up')?;" in words
    review = (project / "REVIEW.md").read_text()
    for part in ("sentences/xx/LampOn/by_name.yaml:data.2", "kindly, would you",
                 "lists/numbers.yaml:dimmer", "responses"):  # fmt: skip
        assert part in review


def test_the_merged_file_gives_the_same_templates(folder, tmp_path):
    source = ImportSource(str(folder), "xx")
    merged = ImportSource(merged_file(tmp_path, **bridges.merged(read_home_assistant(source))))
    assert kind_of(merged).name == kind_of(source).name == "home-assistant"
    one, other = map(import_source, (source, merged))
    assert one.counts == other.counts
    for name in ("values.genie", "words.genie", "LampOn.genie"):
        a, b = (re.sub(r"(?m)^//.*\n", "", found.files[name]) for found in (one, other))
        assert a == b


def test_mistakes_are_told_with_file_and_line_or_left_out(folder, tmp_path):
    data = {"sentences": ["good lamp", "bad (lamp", "<kindel> lamp", "x{glow}{glow}"]}
    merged = merged_file(
        tmp_path, language="xx", intents={"Lamp": {"data": [data]}},
        lists={"glow": {"range": {"from": 1, "to": 2}}}, expansion_rules={"kindle": "k"},
    )  # fmt: skip
    with pytest.raises(GenieError) as caught:
        import_source(ImportSource(merged))
    assert [(p.code, p.span.line, p.hint) for p in caught.value.problems] == [
        ("R086", 9, None), ("R086", 10, "did you mean 'kindle'?")
    ]  # fmt: skip
    imported = import_source(ImportSource(merged, skip_broken=True))
    left = [note for note in imported.notes if note.text.startswith("`")]
    assert [note.path.rpartition(":")[2] for note in left] == [
        f"intents.Lamp.data.0.sentences.{number}" for number in (1, 2, 3)
    ]
    assert "said twice" in left[2].text
    with pytest.raises(GenieError, match="R085"):
        import_source(ImportSource(str(folder), "xy"))


def test_what_is_not_checked_is_said(tmp_path):
    blocks = [
        {"sentences": ["dim to {5..9:glow}"], "required_keywords": ["dim"]},
        {"sentences": ["dim by {0..50:glow}"], "requires_context": {"mood": "calm"}},
        {"sentences": ["dim to {5..95,10:haze}"]},
    ]
    merged = merged_file(tmp_path, language="xx", intents={"Dim": {"data": blocks}})
    notes = import_source(ImportSource(merged)).notes
    found = {(n.path.rpartition(":")[2], n.text) for n in notes if n.sort == "not checked"}
    assert found == {
        ("intents.Dim.data.0", "`glow` is 5 to 9 in these sentences alone"),
        ("intents.Dim.data.0.required_keywords", "one of these words has to be said: dim"),
        ("lists.5..95,10", "numbers go in steps of 10 from 5"),
        ("intents.Dim.data.1.requires_context", "`mood` must be 'calm'"),
    }


SAID_OTHERWISE = """@ intents.yaml
Dim: {slots: {glow: {required: true}, lamp: {required: true}}}
Sweep:
  slots: {area: {required: true}}
  slot_combinations: {here: {slots: [], context_area: true}}
@ lists/all.yaml
lists:
  glow: {range: {from: 0, to: 100}}
  dimmer: {range: {from: 0, to: 100, multiplier: -1}}
  lamp: {values: [desk, floor]}
@ sentences/xx/Dim/any.yaml
data: [{sentences: ["{lamp} up {glow}", "{lamp} down {dimmer:glow}"]}]
@ sentences/xx/Sweep/here.yaml
data: [{sentences: [sweep here]}]
@ sentences/xx/Sweep/there.yaml
data: [{sentences: ["sweep {area}"]}]
"""


def test_what_is_said_otherwise_is_not_asked_for(tmp_path):
    source = ImportSource(str(written(tmp_path, SAID_OTHERWISE)), "xx")
    tools = json.loads(import_source(source).files["tools.json"])
    required = {t["name"]: t["parameters"].get("required", []) for t in tools["tools"]}
    assert required == {"Dim": ["lamp"], "Sweep": []}


def test_hassil_finds_the_same(folder, matcher, capsys):
    pytest.importorskip("hassil")
    sources = read_home_assistant(ImportSource(str(folder), "xx"))
    theirs = bridges.HassilMatcher(sources)
    sampler = bridges.HassilSampler(theirs, HOME, seed=1)
    said = [(text, HOME) for text, _ in (sampler.draw() for _ in range(200))]
    said += [(sentence, HOME) for sentence in SENTENCES]
    said += list(bridges.synthesized(matcher, HOME, 200, seed=1))
    found = bridges.compare("invented", said, matcher, theirs, sources.skip_words)
    assert found.examples == []
    assert found.counts["both"] > 300


def test_a_text_that_is_a_command_has_commands_as_examples(tmp_path):
    blocks = {
        "Later": [{"sentences": ["{what:late_command} later"], "example": "lamp on later"}],
        "LampOn": [{"sentences": ["lamp on"], "example": "lamp on"}],
        "Sing": [{"sentences": ["sing {what:song}"]}],
    }
    intents, lists = {n: {"data": data} for n, data in blocks.items()}, {"what": {"wildcard": True}}
    source = ImportSource(merged_file(tmp_path, language="xx", intents=intents, lists=lists))
    tools = json.loads(import_source(source).files["tools.json"])["tools"]
    inputs = {n: part for tool in tools for n, part in tool["parameters"]["properties"].items()}
    assert inputs["late_command"]["examples"] == ["lamp on later", "lamp on"]
    assert "examples" not in inputs["song"]


OWN = """\
language: "%s"
intents:
  %s:
    data:
      - sentences: ["hoover [the] {den}"]
lists:
  den: {values: [attic, shed]}
"""


def write_own(folder: Path) -> Path:
    for language, intent in (("en", "Hoover"), ("en", "HassTurnOn"), ("de", "Hoover")):
        file = folder / "config" / "custom_sentences" / language / "own" / f"{intent}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(OWN % (language, intent))
    (folder / "config" / "configuration.yaml").write_text("conversation:\n  intents: {A: [b]}\n")
    return folder / "config"


@pytest.mark.parametrize(
    ("inside", "locale", "intents"),
    [
        ("", "en", {"Hoover", "HassTurnOn"}),
        ("", "de", {"Hoover"}),
        ("custom_sentences", "en", {"Hoover", "HassTurnOn"}),
        ("custom_sentences/de", "en", {"Hoover"}),
        ("custom_sentences/de/own/Hoover.yaml", "en", {"Hoover"}),
    ],
)
def test_sentences_of_a_home_are_imported_as_their_own(inside, locale, intents, tmp_path):
    source = ImportSource(str(write_own(tmp_path) / inside), locale)
    assert kind_of(source).name == "home-assistant"
    imported = import_source(source)
    assert {tool["name"] for tool in json.loads(imported.files["tools.json"])["tools"]} == intents
    assert imported.locale == ("de" if "de" in inside else locale)
    assert not any("CC BY" in text for text in imported.files.values())
    is_whole = not inside
    assert any("conversation" in note.text for note in imported.notes) == is_whole


def test_public_sentences_are_credited_and_a_home_without_says_where_they_stand(tmp_path):
    intents = {"HassTurnOn": {"data": [{"sentences": ["lamps on"]}]}}
    merged = merged_file(tmp_path, language="en", intents=intents)
    imported = import_source(ImportSource(merged))
    assert "Home Assistant authors" in imported.files["main.genie"]
    (tmp_path / "home" / "custom_sentences").mkdir(parents=True)
    source = ImportSource(str(tmp_path / "home"))
    assert kind_of(source).name == "home-assistant"
    with pytest.raises(GenieError, match="no file with sentences") as caught:
        import_source(source)
    assert "custom_sentences/LANGUAGE" in str(caught.value.problems[0].hint)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("sentences: [", "sentence: ["), "en has no sentences in 'en'"),
        (('["hoover [the] {den}"]', "go home"), "expected a list at Hoover.yaml:intents"),
        (("      - sentences", "        sentences"), "expected a list at Hoover.yaml:intents"),
        (("[the]", "<the>"), "there is no rule <the>"),
        (("lists:\n  den: ", "lists:\n  - "), "expected an object at Hoover.yaml:lists"),
    ],
)
def test_mistakes_in_sentences_of_a_home_are_told(change, message, tmp_path):
    folder = tmp_path / "en"
    folder.mkdir()
    (folder / "Hoover.yaml").write_text((OWN % ("en", "Hoover")).replace(*change))
    with pytest.raises(GenieError, match=message):
        import_source(ImportSource(str(folder)))
