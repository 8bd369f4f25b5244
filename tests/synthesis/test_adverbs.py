"""Inputs said by adverbs: each once, well typed, read back; and nothing without such phrases."""

import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.cli.inputs import load_inputs
from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.tokens import tokens
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import from_json
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.explain import Explainer
from genie_dp.templates.inputs import Inputs
from tests.golden import DATA
from tests.synthesis.synthesis_setup import engine, text_of

SKILLS = DATA / "grammar_en" / "skills"
ENGLISH = data_folder("grammars") / "en"
BODY = """
VP[form=long] := a:VP[form=np] p:INPUT[pos=adverb, gap=v:VALUE] -> a(p = v)
  if p.function == a.function and p.type == v.type;
"""


@cache
def invented() -> Inputs:
    return load_inputs("thingtalk", (SKILLS,), (), skip_broken=False)


@cache
def said_rows() -> tuple[Example, ...]:
    """Return the rows in which an adverb sets an input."""
    made = engine(invented(), max_depth=3, pool_size=80, size=2000)
    found = map(from_json, text_of(made).splitlines())
    return tuple(r for r in found if any(t.startswith("adverb.") for t in r.derivation))


def rows_of(skills: Path, grammar: Path) -> str:
    inputs = load_inputs("thingtalk", (skills,), (grammar,), skip_broken=False)
    return text_of(engine(inputs, max_depth=2, pool_size=40, size=800))


def test_every_program_is_well_typed_and_sets_each_input_once():
    library = invented().library
    assert len(said_rows()) > 100
    for row in said_rows():
        tree = from_tokens(row.program)
        assert check(tree, library) == [], row.utterance
        assert tokens(canonical(tree, library), library) == row.program
        for call in re.split(r" (?=@)", row.program):
            inputs = re.findall(r"param:(\w+):\S+ = ", call)
            assert len(inputs) == len(set(inputs)), row.program


def test_the_slots_of_an_adverb_fill_its_input_and_prepositions_are_said_once():
    filled = {slot.parameter for row in said_rows() for slot in row.slots.values()}
    assert filled >= {"@com.example.shop.heat:duration", "@com.example.shop.hours:day"}
    for row in said_rows():
        assert not re.search(r"QUOTED_STRING_\d (in (red|blue|big|small)\b)", row.utterance)
        assert not re.search(r"\bin (red|blue) in\b|\bletters in\b", row.utterance)


def test_explain_and_describe_read_and_say_adverbs():
    explainer = Explainer(compile_inputs(invented()))
    step = len(said_rows()) // 25
    for row in said_rows()[::step]:
        assert row.program in explainer.explain(row.utterance).programs, row.utterance
    describer = Describer.from_inputs(invented())
    program = "now => @com.example.shop.heat(temperature = 200C, duration = 5min, is_gentle = true)"
    said = str(describer.describe(invented().language.parse(program)))
    assert said == "Heat the oven to 200 degrees celsius for 5 minutes gently"


def test_a_library_without_adverbs_has_the_rows_of_a_grammar_without_them(tmp_path):
    skills, grammar = tmp_path / "skills", tmp_path / "en"
    shutil.copytree(SKILLS, skills)
    shutil.copytree(ENGLISH, grammar)
    for file in skills.glob("*/skill.tt"):
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"(, )?adverb(_true|_false)?=\[[^\]]*\]", "", text)
        text = text.replace("canonical={, ", "canonical={").replace("#_[canonical={}]", "")
        file.write_text(text, encoding="utf-8")
        assert "adverb" not in text
    main = grammar / "main.genie"
    with_adverbs = rows_of(skills, grammar)
    main.write_text(main.read_text(encoding="utf-8").replace('import "adverbs.genie";', ""))
    assert with_adverbs == rows_of(skills, grammar)
    assert with_adverbs.count("\n") == 800


def planted(tmp_path: Path, body: str) -> Inputs:
    grammar = tmp_path / "main.genie"
    for name in ("categories.genie", "commands.genie"):
        shutil.copy(ENGLISH / name, tmp_path)
    grammar.write_text(f'import "categories.genie";\nimport "commands.genie";\n{body}')
    return load_inputs("thingtalk", (SKILLS,), (grammar,), skip_broken=False)


def test_without_the_guard_an_input_is_still_set_once(tmp_path):
    inputs = planted(tmp_path, BODY.replace("[form=long]", "").replace("[form=np]", ""))
    text = text_of(engine(inputs, max_depth=4, pool_size=100, size=2000, roots=("COMMAND",)))
    programs = [from_json(line).program for line in text.splitlines()]
    assert max(p.count("param:duration:") for p in programs) == 1
    assert max(p.count("param:color:") for p in programs) <= 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (BODY.replace("p:INPUT[pos=adverb", "p:OUTPUT[pos=property"), "'p' is no child of INPUT"),
        (BODY.replace("a(p = v)", "a(duration = v)"), "'duration' is no child of INPUT"),
    ],
)
def test_only_a_child_of_input_names_what_is_set(tmp_path, body, message):
    with pytest.raises(GenieError) as caught:
        planted(tmp_path, body)
    (problem,) = [p for p in caught.value.problems if p.code == "G030"]
    assert problem.message.startswith(message)


def test_the_check_names_adverbs_that_fit_no_function_of_the_phrase(tmp_path, capsys):
    planted(tmp_path, BODY.replace("p.function == a.function and ", ""))
    run(["check", "--skills", str(SKILLS), "--grammar", str(tmp_path / "main.genie")])
    out = "".join(capsys.readouterr())
    assert "warning[G111]" in out
    assert "if p.function == a.function" in out
