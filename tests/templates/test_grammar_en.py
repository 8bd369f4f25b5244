"""The English grammar: every template is used and shown, sentences agree, none is silently dead."""

import re
from functools import cache
from pathlib import Path

import pytest

from genie_dp.cli.inputs import load_inputs
from genie_dp.languages.types import is_slot
from genie_dp.resources import data_folder
from genie_dp.synthesis.compiler import CompiledGrammar, compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.explain import DerivationNode, Explainer
from genie_dp.synthesis.trials import samples
from genie_dp.templates.ast import Template
from genie_dp.templates.check import check_grammar
from genie_dp.templates.english import article
from genie_dp.templates.inputs import Inputs
from tests.conftest import Golden
from tests.golden import DATA, Case, cases
from tests.synthesis.synthesis_setup import rows, shipped

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


def compiled(inputs: Inputs) -> CompiledGrammar:
    """Return the grammar of the default subset over a library."""
    return compile_inputs(inputs)


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    """An explainer of the invented skills."""
    return Explainer(compiled(invented()))


def constructs() -> list[Template]:
    """Return the templates of the English files, in their order."""
    return [
        t for t in invented().grammar.templates if t.span and Path(t.span.file).parent == GRAMMAR
    ]


def templates_of(node: DerivationNode) -> set[str]:
    """Return the ids in a derivation."""
    return {node.template}.union(*(templates_of(child) for child in node.children))


# ----------------------------------------------------------------------------------- files


def test_there_are_as_many_constructs_as_the_paper_had_and_more():
    groups = {template.id.partition(".")[0] for template in constructs()}
    policies = [t for t in constructs() if t.category == "POLICY"]
    numbers = [t for t in constructs() if t.category == "AGG" or t.id.startswith("count.")]
    assert len(constructs()) >= 35 + 42 + 68 + 6 + 6
    assert len(groups) > 15
    assert len(policies) >= 6
    assert len(numbers) >= 6


def test_every_construct_has_an_id_and_an_example_in_a_comment_before_it():
    for template in constructs():
        lines = Path(template.span.file).read_text(encoding="utf-8").splitlines()
        comment = lines[template.span.line - 2]
        assert re.match(r"// \S", comment), f"{template.id} has no example before it"
        assert not comment.startswith("// --"), template.id
        assert not re.fullmatch(r"\w+\.[A-Z]+\.\d+", template.id), f"{template.span}: write an id"


def test_every_file_is_imported_and_begins_with_what_it_holds():
    main = (GRAMMAR / "main.genie").read_text(encoding="utf-8")
    files = sorted(path for path in GRAMMAR.glob("*.genie") if path.name != "main.genie")
    assert len(files) > 15
    for path in files:
        is_aside = path.name in (ONLY_REAL, ANSWERS)
        assert (f'import "{path.name}";' in main) != is_aside
        assert path.read_text(encoding="utf-8").startswith("// ")


def test_the_page_of_the_grammar_lists_every_template():
    page = (GRAMMAR.parent.parent / "docs" / "grammar.md").read_text(encoding="utf-8")
    assert [t.id for t in constructs() if f"`{t.id}`" not in page] == []


@pytest.mark.slow
def test_the_check_finds_nothing_in_the_grammar():
    inputs = shipped()
    problems = check_grammar(inputs.grammar, inputs.language, inputs.library)
    ours = [p for p in problems if p.span and Path(p.span.file).parent == GRAMMAR]
    assert ours == []


# ------------------------------------------------------------------------------- templates


@pytest.mark.slow
def test_every_construct_gives_something_with_the_shipped_skills():
    made = build_engine(compiled(shipped()), SynthesisConfig(size=100, max_depth=4))
    silent = {sample.template.id for sample in samples(made, 1) if not sample.pairs}
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
def test_every_construct_derives_its_sentence(case: Case, explainer: Explainer, golden: Golden):
    explanation = explainer.explain(case.input)
    golden(case, "\n".join(explanation.programs))
    used = set[str]().union(
        *(templates_of(tree) for reading in explanation.readings for tree in reading.trees)
    )
    assert case.name in used


def test_every_construct_has_a_sentence():
    named = {case.name for case in cases(f"{FOLDER}/constructs.txt")}
    assert named == {template.id for template in constructs()}


# --------------------------------------------------------------------------------- English


@pytest.mark.parametrize("case", cases(f"{FOLDER}/english.txt"), ids=str)
def test_english_is_said_this_way_and_not_that(case: Case, explainer: Explainer, golden: Golden):
    golden(case, "\n".join(explainer.explain(case.input).programs) or "nothing")


def test_articles_fit_what_follows_them():
    seen = 0
    for row in rows():
        tokens = row.utterance.split()
        for before, word in zip(tokens, tokens[1:], strict=False):
            if before in ("a", "an") and not is_slot(word):
                assert before == article(word), row.utterance
                seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    "wrong",
    [
        r"\b(the|my|a|an) (the|my|a|an)\b",
        r"[{}]",
        r"\b(and|if|when|whether|that|,) (it|this) are\b",
        r"\b(them|they|these) is\b",
        r"\bthere is new [a-z]+ (change|are)\b",
        r"\b(the|of|when|every|get|new|with) \1\b",
        r", ,|,$|  ",
    ],
)
def test_no_sentence_of_the_shipped_skills_holds(wrong: str):
    assert [row.utterance for row in rows() if re.search(wrong, row.utterance)][:3] == []


def test_sentences_do_not_pile_up():
    deep = [row for row in rows() if row.depth == 4]
    words = sorted(len(row.utterance.split()) for row in deep)
    assert len(words) > 300
    assert words[len(words) // 2] <= 20
    assert words[int(len(words) * 0.99)] <= 40


# ------------------------------------------------------------------------- answers to questions


@cache
def with_answers() -> Inputs:
    """Return the invented skills, and one more, with the grammar of answers."""
    skills = DATA / FOLDER / "skills", DATA / FOLDER / "more_skills"
    return load_inputs("thingtalk", skills, (GRAMMAR / ANSWERS,), skip_broken=False)


@pytest.fixture(scope="module")
def answering() -> Explainer:
    """An explainer of the invented skills and of answers."""
    return Explainer(compile_inputs(with_answers(), ("answers",)))


def answers() -> list[Template]:
    """Return the templates of answers."""
    return [
        t
        for t in with_answers().grammar.templates
        if t.has_own_id and Path(t.span.file).name == ANSWERS
    ]


@pytest.mark.parametrize("case", cases(f"{FOLDER}/answers.txt"), ids=str)
def test_every_answer_derives_its_question(case: Case, answering: Explainer, golden: Golden):
    explanation = answering.explain(case.input)
    golden(case, "\n".join(explanation.programs))
    used = set[str]().union(
        *(templates_of(tree) for reading in explanation.readings for tree in reading.trees)
    )
    assert case.name in used


@pytest.mark.slow
def test_every_question_is_described_and_read_back(answering: Explainer):
    inputs = with_answers()
    describer = Describer(compile_inputs(inputs, ("answers",)), inputs.library)
    for case in cases(f"{FOLDER}/answers.txt"):
        program = case.expected.splitlines()[0]
        found = describer.describe(program)
        assert found.complete, program
        assert found.program in answering.explain(found.utterance).programs, found.sentence


def test_every_answer_has_a_question_an_example_and_a_line_of_the_page():
    page = (GRAMMAR.parent.parent / "docs" / "grammar.md").read_text(encoding="utf-8")
    named = [case.name for case in cases(f"{FOLDER}/answers.txt")]
    assert named == [template.id for template in answers()]
    for template in answers():
        lines = Path(template.span.file).read_text(encoding="utf-8").splitlines()
        comment = lines[template.span.line - 2].removeprefix("// ")
        assert f"| `{template.id}` | {template.category} | {comment} |" in page


def test_the_check_finds_nothing_in_the_grammar_of_answers():
    inputs = with_answers()
    problems = check_grammar(inputs.grammar, inputs.language, inputs.library)
    assert [p for p in problems if p.span and Path(p.span.file).name == ANSWERS] == []
