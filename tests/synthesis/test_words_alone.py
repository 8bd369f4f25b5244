"""Categories of words: said by their names, drawn as one piece, read and described like others."""

import pytest

import genie_dp as gd
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.check import check_grammar
from genie_dp.templates.format import layout

TOOLS = """
{"entities": {"room": ["attic", "hall"]}, "tools": [{"name": "heat", "parameters": {"properties": {
  "room": {"type": "string", "x-entity": "room"},
  "degrees": {"type": "integer", "minimum": 0, "maximum": 30}}}}]}
"""
GRAMMAR = """
category COMMAND : program root;
category the : words;
category make : words;
category polite : words;
the := 'the' | 'our' (nice | 'dear')?;
category nice : words;
nice := 'nice' | 'nice old';
make := 'make' | 'keep' the 'heating of';
polite := 'please' | 'now' | 'a bit';
COMMAND := (polite)? make (the)? '$room' ('warm' | 'hot' | 'cosy' (polite)?)
    ('at $degrees' (polite | 'degrees')?)? (polite | 'for us')?
  -> heat(room = $room, degrees = $degrees);
COMMAND := 'a' polite 'warmer' -> heat();
"""
RULES = 3  # of the first template with and without degrees, and the second


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    (folder / "tools.json").write_text(TOOLS)
    (folder / "main.genie").write_text(GRAMMAR)
    return load_inputs("calls", [folder / "tools.json"], [folder / "main.genie"])


def test_words_are_drawn_and_not_multiplied(inputs):
    assert len(compile_inputs(inputs).rules["COMMAND"]) == RULES
    assert inputs.grammar.words["the"] == ("the", "our nice", "our", "our dear", "our nice old")
    assert len(inputs.grammar.words["make"]) == 6


def test_rows_have_the_words_and_the_programs_have_not(inputs):
    rows = list(gd.synthesize(inputs.library, inputs, size=300, seed=1))
    said = {row.utterance for row in rows}
    assert any("keep our nice old heating of" in text for text in said)
    assert any(text.endswith("degrees for us") for text in said)
    assert {"a please warmer", "a a bit warmer"} <= said
    assert {row.derivation[0] for row in rows} == {"main.COMMAND.1", "main.COMMAND.2"}
    programs = {
        "heat( room= GENERIC_ENTITY_room_0 )",
        "heat( degrees= NUMBER_0 room= GENERIC_ENTITY_room_0 )",
        "heat( )",
    }
    assert {row.program for row in rows} == programs


@pytest.mark.parametrize(
    ("sentence", "program"),
    [
        ("please keep our dear heating of hall cosy now at 20 degrees for us",
         "heat( degrees= NUMBER_0 room= GENERIC_ENTITY_room_0 )"),
        ("make hall hot", "heat( room= GENERIC_ENTITY_room_0 )"),
        ("make hall", None),
        ("our make hall hot", None),
    ],
)  # fmt: skip
def test_sentences_are_read_backwards(inputs, sentence, program):
    explanation = gd.explain(sentence, inputs)
    assert explanation.programs == ((program,) if program else ())
    own = gd.explain(sentence.replace("hall", "tea room"), inputs, names={"room": ["Tea Room"]})
    assert own.programs == explanation.programs


def test_programs_are_described_with_words(inputs):
    description = gd.describe('heat(room = "hall", degrees = 20)', inputs)
    assert gd.explain(description.utterance, inputs).programs == (
        "heat( degrees= NUMBER_0 room= GENERIC_ENTITY_room_0 )",
    )


def test_templates_of_words_are_laid_out():
    assert layout(layout(GRAMMAR)) == layout(GRAMMAR)


def test_the_templates_have_no_mistakes(inputs, tmp_path):
    unused = GRAMMAR + "category odd : words;\nodd := 'odd' 'thing';\n"
    (tmp_path / "tools.json").write_text(TOOLS)
    (tmp_path / "main.genie").write_text(unused)
    more = load_inputs("calls", [tmp_path / "tools.json"], [tmp_path / "main.genie"])
    assert check_grammar(inputs.grammar, inputs.language, inputs.library) == []
    problems = check_grammar(more.grammar, more.language, more.library)
    assert [(p.code, p.severity) for p in problems] == [("G101", "warning")]
