"""Sentence templates of Home Assistant: what they say, and what the importer makes of them."""

import json
import sys
from pathlib import Path

import pytest
import yaml

import genie_dp as gd
from genie_dp.errors import GenieError, render_problem
from genie_dp.skills.imported import Source
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.templates.ast import Child, SaidWords, write_items
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.hassil import UtteranceWriter, read_template
from genie_dp.templates.home_assistant import import_home_assistant, read_sources
from genie_dp.templates.imports import kind_of, run
from tests.golden import DATA, Case, cases

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import bridges

# ------------------------------------------------------------------------------------ templates


@pytest.mark.parametrize("case", cases("home_assistant/utterances.txt"), ids=str)
def test_templates_become_utterances(case: Case, golden) -> None:
    text, *given = case.input.split("\n")
    rules = dict(line[1:].split("> ", 1) for line in given)
    writer = UtteranceWriter(
        lambda name: read_template(rules[name]),
        lambda reference: SaidWords(reference.name),
        lambda reference: Child(reference.slot, reference.name),
    )
    golden(case, write_items(writer.utterance(read_template(text))))


@pytest.mark.parametrize("case", cases("home_assistant/mistakes.txt"), ids=str)
def test_mistakes_in_templates_have_their_place(case: Case, golden) -> None:
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
    for block in (DATA / "home_assistant" / "joints.txt")
    .read_text()
    .split("\n", 1)[1]
    .split("\n\n")
]


@pytest.mark.parametrize("block", JOINTS, ids=lambda block: block[0])
def test_words_with_joints_are_derived_as_hassil_matches_them(block, tmp_path) -> None:
    template, *sentences = block
    file = tmp_path / "en.json"
    intents = {"Do": {"data": [{"sentences": [template]}]}}
    file.write_text(json.dumps({"language": "en", "intents": intents, "lists": LISTS}))
    run(Source(str(file)), tmp_path / "home")
    grammar = gd.load_grammar(tmp_path / "home" / "main.genie", tmp_path / "home" / "tools.json")
    derived = [
        f"{'+' if gd.explain(sentence[2:], grammar).readings else '-'} {sentence[2:]}"
        for sentence in sentences
    ]
    assert derived == sentences


def test_hassil_itself_matches_these_joints() -> None:
    hassil = pytest.importorskip("hassil")
    for template, *sentences in JOINTS:
        intents = {"Do": {"data": [{"sentences": [template]}]}}
        known = hassil.Intents.from_dict({"language": "en", "intents": intents, "lists": LISTS})
        matched = [
            f"{'+' if hassil.recognize(sentence[2:], known) else '-'} {sentence[2:]}"
            for sentence in sentences
        ]
        assert matched == sentences, template


# ------------------------------------------------------------------------------------- a folder

INTENTS = {
    "LampOn": {
        "description": "Lights a lamp",
        "slots": {"name": {"description": "Which lamp"}},
        "slot_combinations": {
            "here": {"slots": ["domain"], "context_area": True},
            "by_name": {"slots": ["name"], "name_domain_groups": {"all": ["lamp", "lantern"]}},
        },
    },
}
FILES = {
    "lists/numbers.yaml": {
        "lists": {
            "glow": {"range": {"from": 0, "to": 100}},
            "dimmer": {"range": {"from": 0, "to": 100, "multiplier": -1}},
            "warmth": {"range": {"from": 10, "to": 30, "fractions": "halves"}},
            "tint": {"range": {"from": 100, "to": 900, "step": 50}},
            "song": {"wildcard": True},
        }
    },
    "lists/xx/hues.yaml": {
        "lists": {
            "hue": {
                "values": [
                    {"in": "(crimson|ruby)", "out": "red"},
                    {"in": "sky[ ]blue", "out": "blue"},
                    "amber",
                ]
            },
            "level": {"values": [{"in": "lowest", "out": 1}, {"in": "highest", "out": 100}]},
        }
    },
    "rules/xx/common.yaml": {
        "expansion_rules": {
            "the": "(the|our)",
            "kindle": "(kindle|light[ up])",
            "place": "[at|in] [<the>] {area}",
            "everywhere": "[all ]over <the> (house|place)",
        }
    },
    "sentences/xx/_common.yaml": {"language": "xx", "skip_words": ["kindly", "would you"]},
    "sentences/xx/LampOn/here.yaml": {
        "data": [
            {
                "sentences": ["<kindle> [<the>] lamp[s] [here]", "lamp[s] (on;[here])"],
                "inferred_domain": "lamp",
            }
        ]
    },
    "sentences/xx/LampOn/by_name.yaml": {
        "data": [
            {"sentences": ["<kindle> [<the>] {name}", "{name} on"], "name_domains": "all"},
            {"sentences": ["hoist [<the>] {name}"], "name_domains": ["flag"]},
            {"sentences": ["quick {name}"], "speech_to_phrase": True},
        ]
    },
    "sentences/xx/LampOn/swift.yaml": {
        "data": [
            {
                "sentences": ["swift {name}"],
                "name_domains": ["lamp"],
                "speech_to_phrase": True,
            }
        ]
    },
    "sentences/xx/LampOn/place.yaml": {
        "data": [{"sentences": ["<kindle> [all] lamps <place>", "<kindle> it <everywhere>"]}]
    },
    "sentences/xx/LampSet/any.yaml": {
        "data": [
            {"sentences": ["paint {name} {hue}[ at {glow}[ ]%]"], "name_domains": ["lamp"]},
            {"sentences": ["(raise by {glow}|sink by {dimmer:glow})"]},
            {"sentences": ["{level:glow} glow", "warm to {warmth}[ ]°", "tint of {tint}"]},
        ]
    },
    "sentences/xx/LampSet/own.yaml": {
        "data": [
            {
                "sentences": ["<the> {hue} times {0..100:glow} [of {name}]"],
                "expansion_rules": {"the": "ye[s]"},
                "lists": {"hue": {"values": ["drab"]}},
                "excludes_context": {"domain": "flag"},
                "slots": {"hue": "none", "kind": "own"},
                "required_keywords": ["times"],
            }
        ]
    },
    "sentences/xx/PlaySong/any.yaml": {
        "data": [{"sentences": ["play {song} [in {area}]", "a {song} please"]}]
    },
}
HOME = bridges.Home(
    {"lamp": ("Old Lamp",), "lantern": ("Storm Light",), "flag": ("Banner",), "area": ("Attic",)},
    area="Porch",
)
LAMP = ("domain", "lamp")
SENTENCES = {
    "kindle the lamps here": {("LampOn", LAMP, ("area", "porch"))},
    "lamp here on": {("LampOn", LAMP, ("area", "porch"))},
    "lamp on here": {("LampOn", LAMP, ("area", "porch"))},
    "lamps on": {("LampOn", LAMP, ("area", "porch"))},
    "lights up our lamp": set(),
    "light up our lamp": {("LampOn", LAMP, ("area", "porch"))},
    "lightup our lamp": set(),
    "kindle old lamp": {("LampOn", ("name", "old lamp"))},
    "storm light on": {("LampOn", ("name", "storm light"))},
    "hoist the banner": {("LampOn", ("name", "banner"))},
    "hoist the old lamp": set(),
    "kindle the banner": set(),
    "kindle the unknown lamp": set(),
    "quick old lamp": set(),
    "swift old lamp": {("LampOn", ("name", "old lamp"))},
    "light lamps in the attic": {("LampOn", ("area", "attic"))},
    "light it all over our house": {("LampOn",)},
    "light it over our house": {("LampOn",)},
    "paint old lamp ruby": {("LampSet", ("name", "old lamp"), ("hue", "red"))},
    "paint old lamp skyblue at 40 %": {
        ("LampSet", ("name", "old lamp"), ("hue", "blue"), ("glow", 40.0))
    },
    "paint old lamp amber at 140 %": set(),
    "raise by 5": {("LampSet", ("glow", 5.0))},
    "sink by 5": {("LampSet", ("glow", -5.0))},
    "lowest glow": {("LampSet", ("glow", 1.0))},
    "warm to 20.5 °": {("LampSet", ("warmth", 20.5))},
    "warm to 20.3 °": set(),
    "tint of 150": {("LampSet", ("tint", 150.0))},
    "tint of 160": set(),
    "ye drab times 4": {("LampSet", ("hue", "drab"), ("glow", 4.0), ("kind", "own"))},
    "yes drab times 4 of old lamp": {
        ("LampSet", ("hue", "drab"), ("glow", 4.0), ("kind", "own"), ("name", "old lamp"))
    },
    "ye drab times 4 of banner": set(),
    "the drab times 4": set(),
    "ye ruby times 4": set(),
    "play moon river in attic": {
        ("PlaySong", ("song", "moon river"), ("area", "attic")),
        ("PlaySong", ("song", "moon river in attic")),
    },
    "a ode please": {("PlaySong", ("song", "ode"))},
    "an ode please": set(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("assistant")
    for name, content in {"intents.yaml": INTENTS, **FILES}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def project(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("imported") / "home"
    run(Source(str(folder), "xx"), output)
    return output


@pytest.fixture(scope="module")
def matcher(project: Path) -> bridges.TemplateMatcher:
    return bridges.TemplateMatcher(project)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_means_what_the_templates_say(
    sentence: str, matcher: bridges.TemplateMatcher
) -> None:
    found = matcher.meanings([sentence], HOME)
    assert found == {(name, frozenset(slots)) for name, *slots in SENTENCES[sentence]}


def test_slots_become_parameters_with_their_types(project: Path) -> None:
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


def test_templates_can_be_read_by_people_and_by_us(project: Path) -> None:
    inputs = load_inputs("calls", [project / "tools.json"], [project / "main.genie"])
    text = (project / "LampOn.genie").read_text()
    assert "// sentences/xx/LampOn/here.yaml:data.0, here\n" in text
    assert "COMMAND := kindle (the)? ('lamps' | 'lamp') ('here')?" in text
    rules = compile_inputs(inputs).rules["COMMAND"]
    assert len(rules) < 2 * len(inputs.grammar.templates)  # words are drawn, not multiplied
    words = (project / "words.genie").read_text()
    assert "kindle := 'kindle' | 'light' ('up')?;" in words


def test_what_is_left_out_is_said(project: Path) -> None:
    review = (project / "REVIEW.md").read_text()
    for part in (
        "sentences/xx/LampOn/by_name.yaml:data.2", "kindly, would you",
        "lists/numbers.yaml:dimmer", "responses",
    ):  # fmt: skip
        assert part in review


def test_the_merged_file_gives_the_same_templates(folder: Path, tmp_path: Path) -> None:
    source = Source(str(folder), "xx")
    merged = tmp_path / "xx.json"
    merged.write_text(json.dumps(bridges.merged(read_sources(source))))
    assert kind_of(Source(str(merged))).name == kind_of(source).name == "home-assistant"
    one, other = (import_home_assistant(given) for given in (source, Source(str(merged))))
    assert one.counts == other.counts
    for name in ("values.genie", "words.genie", "LampOn.genie"):
        assert _without_comments(one.files[name]) == _without_comments(other.files[name])


def _without_comments(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("//")]


def test_mistakes_are_told_with_file_and_line_or_left_out(folder: Path, tmp_path: Path) -> None:
    data = {"sentences": ["good lamp", "bad (lamp", "<kindel> lamp", "x{glow}{glow}"]}
    merged = tmp_path / "xx.json"
    merged.write_text(
        json.dumps({
            "language": "xx", "intents": {"Lamp": {"data": [data]}},
            "lists": {"glow": {"range": {"from": 1, "to": 2}}}, "expansion_rules": {"kindle": "k"},
        }, indent=1)
    )  # fmt: skip
    with pytest.raises(GenieError) as caught:
        import_home_assistant(Source(str(merged)))
    assert [(p.code, p.span.line, p.hint) for p in caught.value.problems] == [
        ("R086", 9, None), ("R086", 10, "did you mean 'kindle'?")
    ]  # fmt: skip
    imported = import_home_assistant(Source(str(merged), skip_broken=True))
    left = [note for note in imported.notes if note.text.startswith("`")]
    assert [note.path.rpartition(":")[2] for note in left] == [
        f"intents.Lamp.data.0.sentences.{number}" for number in (1, 2, 3)
    ]
    assert "said twice" in left[2].text
    with pytest.raises(GenieError, match="R085"):
        import_home_assistant(Source(str(folder), "xy"))


def test_what_is_not_checked_is_said(tmp_path: Path) -> None:
    blocks = [
        {"sentences": ["dim to {5..9:glow}"], "required_keywords": ["dim"]},
        {"sentences": ["dim by {0..50:glow}"], "requires_context": {"mood": "calm"}},
        {"sentences": ["dim to {5..95,10:haze}"]},
    ]
    merged = tmp_path / "xx.json"
    merged.write_text(json.dumps({"language": "xx", "intents": {"Dim": {"data": blocks}}}))
    notes = import_home_assistant(Source(str(merged))).notes
    found = {(n.path.rpartition(":")[2], n.text) for n in notes if n.sort == "not checked"}
    assert found == {
        ("intents.Dim.data.0", "`glow` is 5 to 9 in these sentences alone"),
        ("intents.Dim.data.0.required_keywords", "one of these words has to be said: dim"),
        ("lists.5..95,10", "numbers go in steps of 10 from 5"),
        ("intents.Dim.data.1.requires_context", "`mood` must be 'calm'"),
    }


def test_what_is_said_otherwise_is_not_asked_for(tmp_path: Path) -> None:
    asked = {"required": True}
    written = {
        "intents.yaml": {
            "Dim": {"slots": {"glow": asked, "lamp": asked}},
            "Sweep": {
                "slots": {"area": asked},
                "slot_combinations": {"here": {"slots": [], "context_area": True}},
            },
        },
        "lists/all.yaml": {
            "lists": {
                "glow": {"range": {"from": 0, "to": 100}},
                "dimmer": {"range": {"from": 0, "to": 100, "multiplier": -1}},
                "lamp": {"values": ["desk", "floor"]},
            }
        },
        "sentences/xx/Dim/any.yaml": {
            "data": [{"sentences": ["{lamp} up {glow}", "{lamp} down {dimmer:glow}"]}]
        },
        "sentences/xx/Sweep/here.yaml": {"data": [{"sentences": ["sweep here"]}]},
        "sentences/xx/Sweep/there.yaml": {"data": [{"sentences": ["sweep {area}"]}]},
    }
    for name, content in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(yaml.safe_dump(content), encoding="utf-8")
    tools = json.loads(import_home_assistant(Source(str(tmp_path), "xx")).files["tools.json"])
    required = {t["name"]: t["parameters"].get("required", []) for t in tools["tools"]}
    assert required == {"Dim": ["lamp"], "Sweep": []}


def test_hassil_finds_the_same(
    folder: Path, matcher: bridges.TemplateMatcher, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hassil")
    sources = read_sources(Source(str(folder), "xx"))
    theirs = bridges.HassilMatcher(sources)
    sampler = bridges.HassilSampler(theirs, HOME, seed=1)
    said = [(text, HOME) for text, _ in (sampler.draw() for _ in range(200))]
    said += [(sentence, HOME) for sentence in SENTENCES]
    said += list(bridges.synthesized(matcher, HOME, 200, seed=1))
    found = bridges.compare("invented", said, matcher, theirs, sources.skip_words)
    assert found.examples == []
    assert found.counts["both"] > 300


def test_a_text_that_is_a_command_has_commands_as_examples(tmp_path: Path) -> None:
    blocks = {
        "Later": [{"sentences": ["{what:late_command} later"], "example": "lamp on later"}],
        "LampOn": [{"sentences": ["lamp on"], "example": "lamp on"}],
        "Sing": [{"sentences": ["sing {what:song}"]}],
    }
    document = {
        "language": "xx",
        "intents": {name: {"data": data} for name, data in blocks.items()},
        "lists": {"what": {"wildcard": True}},
    }
    path = tmp_path / "xx.json"
    path.write_text(json.dumps(document))
    tools = json.loads(import_home_assistant(Source(str(path), "xx")).files["tools.json"])["tools"]
    inputs = {
        name: part for tool in tools for name, part in tool["parameters"]["properties"].items()
    }
    assert inputs["late_command"]["examples"] == ["lamp on later", "lamp on"]
    assert "examples" not in inputs["song"]


# -------------------------------------------------------------------------------- a user's own

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
    """Return the configuration of a home with sentences in two languages."""
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
def test_sentences_of_a_home_are_imported_as_their_own(inside, locale, intents, tmp_path) -> None:
    source = Source(str(write_own(tmp_path) / inside), locale)
    assert kind_of(source).name == "home-assistant"
    imported = import_home_assistant(source)
    assert {tool["name"] for tool in json.loads(imported.files["tools.json"])["tools"]} == intents
    assert imported.locale == ("de" if "de" in inside else locale)
    assert not any("CC BY" in text for text in imported.files.values())
    is_whole = not inside
    assert any("conversation" in note.text for note in imported.notes) == is_whole


def test_a_merged_file_of_the_public_sentences_is_credited(tmp_path) -> None:
    intents = {"HassTurnOn": {"data": [{"sentences": ["lamps on"]}]}}
    (tmp_path / "en.json").write_text(json.dumps({"language": "en", "intents": intents}))
    imported = import_home_assistant(Source(str(tmp_path / "en.json")))
    assert "Home Assistant authors" in imported.files["main.genie"]


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
def test_mistakes_in_sentences_of_a_home_are_told(change, message, tmp_path) -> None:
    folder = tmp_path / "en"
    folder.mkdir()
    (folder / "Hoover.yaml").write_text((OWN % ("en", "Hoover")).replace(*change))
    with pytest.raises(GenieError, match=message):
        import_home_assistant(Source(str(folder)))


def test_a_home_without_sentences_says_where_they_stand(tmp_path) -> None:
    (tmp_path / "custom_sentences").mkdir()
    source = Source(str(tmp_path))
    assert kind_of(source).name == "home-assistant"
    with pytest.raises(GenieError, match="no file with sentences") as caught:
        import_home_assistant(source)
    assert "custom_sentences/LANGUAGE" in str(caught.value.problems[0].hint)
