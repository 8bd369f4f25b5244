"""How far a program comes and what is wrong with it: tests/data/evaluate."""

import pytest

from genie_dp.errors import GenieError
from genie_dp.evaluate.judge import KINDS, OUTCOMES, TIERS, judge
from genie_dp.evaluate.result import KIND_HELP
from genie_dp.evaluate.rows import Gold, Prediction
from genie_dp.evaluate.views import viewer_of
from genie_dp.languages import get_language
from genie_dp.records import Example
from tests.conftest import Golden
from tests.golden import DATA, Case, cases
from tests.languages.thingtalk.thingtalk_library import example_library

THINGTALK = cases("evaluate/thingtalk.txt")
SEXPR = cases("evaluate/sexpr.txt")
INBOX = "now => @com.example.mail.inbox => notify"


def library_of(language):
    return example_library() if language == "thingtalk" else None


def token_form(text, language):
    """Return the tokens of a line: a program as people write it, or tokens as they are."""
    if text.startswith("tokens: "):
        return text.removeprefix("tokens: ")
    target, library = get_language(language), library_of(language)
    program = target.parse(text)
    return target.tokens(target.canonical(program, library), library)


def judged(case, language, *, unordered=False):
    right, said, *reply = case.input.split("\n")
    programs = tuple(token_form(text, language) for text in right.split(" || "))
    gold = Gold(Example("a", "words", programs[0], language), programs)
    answer = (token_form(said, language),) if said else ()
    viewer = viewer_of(language, library_of(language), unordered=unordered)
    refused = reply[0].removeprefix("reply: ") if reply != ["reply: acted on"] and reply else None
    return judge(gold, Prediction("a", answer, (), bool(reply), refused), viewer)


def told(found):
    tier = TIERS[found.reached - 1] if found.reached else "none"
    outcome = f"; {found.outcome}" if found.outcome else ""
    return f"{tier}; {found.kind or 'right'}{outcome}"


@pytest.mark.parametrize("case", [*THINGTALK, *SEXPR], ids=str)
def test_programs_come_as_far_as_they_are_right(case: Case, golden: Golden) -> None:
    golden(case, told(judged(case, case.path.stem)))


def test_every_tier_and_every_kind_of_error_has_a_case():
    expected = [case.expected for case in (*THINGTALK, *SEXPR)]
    assert {text.split("; ")[0] for text in expected} == {"none", *TIERS}
    assert {text.split("; ")[1] for text in expected} == {"right", *KINDS}
    assert {outcome for text in expected for outcome in text.split("; ")[2:]} == {*OUTCOMES}


def test_unordered_match_forgives_the_order_and_nothing_else():
    right = {
        case.name for case in SEXPR if told(judged(case, "sexpr", unordered=True)) == "match; right"
    }
    assert right == {"equal", "the order of nodes counts"}
    with pytest.raises(GenieError, match="V021"):
        viewer_of("thingtalk", example_library(), unordered=True)


@pytest.mark.parametrize(
    ("program", "code"), [("now => =>", "V005"), ("now => @com.x.f => notify", "V006")]
)
def test_a_gold_program_that_is_none_is_a_mistake_with_its_line(program, code):
    gold = Gold(Example("a", "words", program), (program,), 7)
    viewer = viewer_of("thingtalk", example_library())
    with pytest.raises(GenieError) as caught:
        judge(gold, Prediction("a", (INBOX,)), viewer, file="gold.jsonl")
    problem = caught.value.problems[0]
    assert (problem.code, str(problem.span)) == (code, "gold.jsonl:7:1")


def test_the_rank_is_the_place_of_the_first_right_program():
    viewer = viewer_of("sexpr", None)
    gold = Gold(Example("a", "words", "( f )", "sexpr"), ("( f )", "( g )"))
    programs = ("( h )", "( oh", "( g )", "( f )")
    ranks = [judge(gold, Prediction("a", programs[:n]), viewer).rank for n in range(5)]
    assert ranks == [0, 0, 0, 3, 3]


def test_functions_taken_for_others_are_paired():
    viewer = viewer_of("sexpr", None)
    gold = Gold(Example("a", "words", "( f ( g ) )", "sexpr"), ("( f ( g ) )",))
    found = judge(gold, Prediction("a", ("( f ( h ( k ) ) )",)), viewer)
    assert found.confusions == (("g", "h"), ("", "k"))
    assert found.detail == "missing: g; too many: h k"


def test_every_tier_and_kind_is_explained():
    page = (DATA.parents[1] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert [tier for tier in TIERS if f"| `{tier}` |" not in page] == []
    words = {word for kind in KINDS for word in kind.split()} - {"missing", "extra"}
    assert [word for word in sorted(words) if word not in page] == []
    assert tuple(KIND_HELP) == KINDS
