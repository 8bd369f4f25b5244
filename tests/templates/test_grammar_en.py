"""The English grammar: every template is used and shown, sentences agree, none is silently dead."""

import re
from functools import cache
from pathlib import Path

import pytest

from genie_dp.cli.inputs import load_inputs
from genie_dp.english.forms import article
from genie_dp.languages.types import is_slot
from genie_dp.resources import data_folder
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.explain import DerivationNode, Explainer
from genie_dp.synthesis.trials import samples
from genie_dp.templates.ast import Template
from genie_dp.templates.check import check_grammar
from genie_dp.templates.inputs import Inputs
from tests.conftest import Golden
from tests.golden import DATA, Case, cases
from tests.synthesis.synthesis_setup import rows, shipped, shipped_engine

pytestmark = pytest.mark.xdist_group("shipped")
GRAMMAR = Path(str(data_folder("grammars"))) / "en"


FOLDER = "grammar_en"
# Read for real data sets only, which hold commands among their noun phrases.
ONLY_REAL = "real_phrases.genie"
# What needs the extension for questions: who wants it names it in place of main.genie.
ANSWERS = "answers.genie"


@cache
def invented() -> Inputs:
    """Return two invented skills, which have every type and part of speech."""
    files = GRAMMAR / "main.genie", GRAMMAR / ONLY_REAL
    return load_inputs("thingtalk", (DATA / FOLDER / "skills",), files, skip_broken=False)


@pytest.fixture(scope="module")
def explainer():
    return Explainer(compile_inputs(invented()))


def constructs() -> list[Template]:
    found = invented().grammar.templates
    return [t for t in found if t.span and Path(t.span.file).parent == GRAMMAR]


def line_before(template: Template) -> str:
    lines = Path(template.span.file).read_text(encoding="utf-8").splitlines()
    return lines[template.span.line - 2]


def templates_of(node: DerivationNode) -> set[str]:
    return {node.template}.union(*(templates_of(child) for child in node.children))


def derives(case: Case, explainer: Explainer, golden: Golden) -> None:
    explanation = explainer.explain(case.input)
    golden(case, "\n".join(explanation.programs))
    trees = [tree for reading in explanation.readings for tree in reading.trees]
    assert any(case.name in templates_of(tree) for tree in trees)


def test_every_construct_has_an_id_and_an_example_before_it():
    for template in constructs():
        comment = line_before(template)
        assert re.match(r"// (?!--)\S", comment), f"{template.id} has no example before it"
        assert not re.fullmatch(r"\w+\.[A-Z]+\.\d+", template.id), f"{template.span}: write an id"


def test_every_file_is_imported_and_begins_with_what_it_holds():
    main = (GRAMMAR / "main.genie").read_text(encoding="utf-8")
    files = sorted(path for path in GRAMMAR.glob("*.genie") if path.name != "main.genie")
    assert len(files) > 15
    for path in files:
        is_aside = path.name in (ONLY_REAL, ANSWERS)
        assert (f'import "{path.name}";' in main) != is_aside
        assert path.read_text(encoding="utf-8").startswith("// ")


@pytest.mark.slow
def test_every_construct_gives_something_with_the_shipped_skills():
    silent = {sample.template.id for sample in samples(shipped_engine(), 1) if not sample.pairs}
    assert silent & {template.id for template in constructs()} == set()


def test_phrases_of_real_data_sets_are_read_for_them_alone(tmp_path):
    assert [t for t in shipped().grammar.templates if t.id == "real.ask"] == []
    skill = tmp_path / "com.example.clock"
    skill.mkdir()
    (skill / "manifest.tt").write_text(
        'class @com.example.clock { query now(out time: Time #_[canonical="time"]); }'
    )
    (skill / "dataset.tt").write_text(
        "dataset @com.example.clock { query = @com.example.clock.now() "
        '#_[utterances=["get the time"]]; }'
    )
    found = load_inputs("thingtalk", (skill,), (), skip_broken=False).grammar.templates
    assert [t.id for t in found if t.span and Path(t.span.file).name == ONLY_REAL] == ["real.ask"]


@pytest.mark.parametrize("case", cases(f"{FOLDER}/constructs.txt"), ids=str)
def test_every_construct_derives_its_sentence(case, explainer, golden):
    derives(case, explainer, golden)


def test_every_construct_has_a_sentence():
    named = {case.name for case in cases(f"{FOLDER}/constructs.txt")}
    assert named == {template.id for template in constructs()}


@pytest.mark.parametrize("case", cases(f"{FOLDER}/english.txt"), ids=str)
def test_english_is_said_this_way_and_not_that(case, explainer, golden):
    golden(case, "\n".join(explainer.explain(case.input).programs) or "nothing")


def test_no_sentence_of_the_shipped_skills_holds_bad_english_or_piles_up():
    wrong = [
        r"\b(the|my|a|an) (the|my|a|an)\b",
        r"[{}]",
        r"\b(and|if|when|whether|that|,) (it|this) are\b",
        r"\b(them|they|these) is\b",
        r"\bthere is new [a-z]+ (change|are)\b",
        r"\b(the|of|when|every|get|new|with) \1\b",
        r", ,|,$|  ",
    ]
    seen = 0
    for row in rows():
        assert [w for w in wrong if re.search(w, row.utterance)] == [], row.utterance
        tokens = row.utterance.split()
        for before, word in zip(tokens, tokens[1:], strict=False):
            if before in ("a", "an") and not is_slot(word):
                assert before == article(word), row.utterance
                seen += 1
    assert seen > 100
    words = sorted(len(row.utterance.split()) for row in rows() if row.depth == 4)
    assert len(words) > 300
    assert words[len(words) // 2] <= 20
    assert words[int(len(words) * 0.99)] <= 40


@cache
def with_answers() -> Inputs:
    """Return the invented skills, and one more, with the grammar of answers."""
    skills = DATA / FOLDER / "skills", DATA / FOLDER / "more_skills"
    return load_inputs("thingtalk", skills, (GRAMMAR / ANSWERS,), skip_broken=False)


@pytest.fixture(scope="module")
def answering():
    return Explainer(compile_inputs(with_answers(), ("answers",)))


@pytest.mark.parametrize("case", cases(f"{FOLDER}/answers.txt"), ids=str)
def test_every_answer_derives_its_question(case, answering, golden):
    derives(case, answering, golden)


@pytest.mark.slow
def test_every_question_is_described_and_read_back(answering):
    inputs = with_answers()
    describer = Describer(compile_inputs(inputs, ("answers",)), inputs.library)
    for case in cases(f"{FOLDER}/answers.txt"):
        program = case.expected.splitlines()[0]
        found = describer.describe(program)
        assert found.complete, program
        assert found.program in answering.explain(found.utterance).programs, found.sentence


def test_every_answer_has_a_question_an_example_and_no_mistake():
    inputs = with_answers()
    answers = [
        t for t in inputs.grammar.templates if t.has_own_id and Path(t.span.file).name == ANSWERS
    ]
    assert [case.name for case in cases(f"{FOLDER}/answers.txt")] == [t.id for t in answers]
    for template in answers:
        assert re.match(r"// \S", line_before(template)), f"{template.id} has no example before it"
    problems = check_grammar(inputs.grammar, inputs.language, inputs.library)
    assert [p for p in problems if p.span and Path(p.span.file).name == ANSWERS] == []
