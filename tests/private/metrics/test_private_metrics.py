"""Measures of synthetic rows: values worked out by hand, and laws."""

import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from math import exp, isclose, log

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.metrics.compare import (
    ComparedRow,
    Comparison,
    Corpus,
    compare_corpora,
    draw_rows,
    word_counts,
)
from genie_dp.private.metrics.language_model import CrossFitted, NgramModel
from genie_dp.private.metrics.measures import Intervals, chi_square, coverage, overlap, precision
from genie_dp.private.metrics.programs import (
    TokenFormReader,
    figures_of_matches,
    graph_coverage,
    match_programs,
)
from tests.languages.thingtalk.thingtalk_library import example_library

SEXPR = TokenFormReader(get_language("sexpr"))
QUICK = Intervals(draws=50)
counters = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), min_size=1).map(Counter)
words = st.sampled_from(["wake", "me", "up", "at", "six", "play", "jazz"])
sentences = st.lists(words, min_size=1, max_size=6).map(" ".join)
corpora = st.lists(st.builds(ComparedRow, sentences), min_size=1, max_size=12)


def test_overlap_is_the_share_of_real_types_and_precision_that_of_synthetic_ones():
    real, synthetic = {"a", "b", "c", "d"}, {"a", "b", "x"}
    assert overlap(real, synthetic) == 2 / 4
    assert precision(real, synthetic) == 2 / 3


def test_chi_square_distance_by_hand():
    # Shares 3/4, 1/4, 0 and 1/4, 1/4, 1/2: (1/4 + 0 + 1/2) / 2.
    assert chi_square({"f": 3, "g": 1}, {"f": 1, "g": 1, "h": 2}) == pytest.approx(3 / 8)
    assert chi_square({"f": 1}, {"g": 5}) == 1
    assert chi_square({"f": 1}, {}) == 1


def test_coverage_compares_lists_of_the_most_frequent():
    real = Counter({f"f{i:02}": 100 - i for i in range(30)})
    # Of the first ten, three are rare here; of the first 25, one is not there at all.
    synthetic = Counter({name: count for name, count in real.items() if name != "f24"})
    for name in ("f00", "f01", "f02"):
        synthetic[name] = 1
    found = {one.k: (one.found, one.of) for one in coverage(real, synthetic)}
    assert found == {10: (7, 10), 25: (21, 25), 50: (29, 30)}
    # Ranks beyond all real types are left out.
    assert [one.k for one in coverage(Counter(map(str, range(25))), Counter("a"))] == [10, 25]


@given(counters)
def test_a_corpus_has_all_types_of_itself_and_no_distance(counts):
    assert overlap(counts, counts) == precision(counts, counts) == 1
    assert chi_square(counts, counts) == 0
    assert all(one.share == 1 for one in coverage(counts, counts))


@example(Counter({"a": 1}), Counter({"b": 1, "c": 1, "d": 8}), 2)
@given(counters, counters, st.integers(2, 5))
def test_the_distance_is_symmetric_and_of_shares_alone_and_precision_turns_overlap(
    one, other, times
):
    many = {name: count * times for name, count in other.items()}
    assert chi_square(one, many) == pytest.approx(chi_square(one, other))
    assert chi_square(one, other) == pytest.approx(chi_square(other, one))
    assert 0 <= chi_square(one, other) <= 1
    assert precision(one, other) == overlap(other, one)


@given(corpora, corpora, st.integers(1, 5))
def test_noise_for_words_never_helps_overlap_and_hurts_precision(real, synthetic, several):
    noisy = [ComparedRow(f"{row.utterance} {'grxl' * (i + 1)}") for i, row in enumerate(synthetic)]
    known, before, after = word_counts(real), word_counts(synthetic), word_counts(noisy)
    assert overlap(known, after) == overlap(known, before)
    assert precision(known, after) <= precision(known, before)
    replaced = [ComparedRow("grxl" * several), *synthetic[1:]]
    assert overlap(known, word_counts(replaced)) <= overlap(known, before)


@given(st.lists(st.builds(ComparedRow, sentences), min_size=3, max_size=9), st.randoms())
def test_which_rows_are_drawn_does_not_depend_on_their_order(rows, rng):
    other = list(rows)
    rng.shuffle(other)
    assert draw_rows(rows, 3) == draw_rows(other, 3)
    assert not Counter(draw_rows(rows, 3)) - Counter(rows)


def test_rows_show_nothing_of_themselves():
    row = ComparedRow("my secret", "( secret )")
    corpus = Corpus("file", (row,))
    assert "secret" not in repr(row) + repr(corpus) + str([corpus])


def test_intervals_are_those_of_evaluate_for_shares():
    from genie_dp.evaluate import result

    ours = Intervals(draws=4000).mean([1.0] * 60 + [0.0] * 40)
    theirs = result.IntervalEstimator().share(60, 100)
    assert ours["value"] == theirs["share"] == 0.6
    assert all(abs(ours[end] - theirs[end]) < 0.02 for end in ("low", "high"))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=9))
def test_intervals_do_not_depend_on_the_order_of_rows(rows):
    above, below = [float(a) for a, _ in rows], [float(b) for _, b in rows]
    found = QUICK.ratio(above, below)
    assert found == QUICK.ratio(above[::-1], below[::-1])
    assert found["low"] <= found["high"]
    assert found["value"] == pytest.approx(sum(above) / sum(below))


def test_graphs_are_equal_where_only_values_differ():
    one, other = SEXPR.read('( f ( g " tea " 1L ) )'), SEXPR.read('( f ( g " milk " 22L ) )')
    assert one.kind == "valid"
    assert one.graph == other.graph != SEXPR.read('( f ( h " tea " 1L ) )').graph


def test_graphs_know_nothing_of_which_values_are_equal_or_said_first():
    one, other = (SEXPR.read(f"( f ( g {a}L ) ( h 1L ) )") for a in (1, 2))
    assert one.graph == other.graph


def test_words_of_top_are_values_and_symbols_of_lispress_are_none():
    tops = [f"[ IN:ALARM [ SL:TIME {words} ] ]" for words in ("at six", "in the morning")]
    assert SEXPR.read(tops[0]).graph == SEXPR.read(tops[1]).graph
    assert SEXPR.read(tops[0]).graph != SEXPR.read("[ IN:ALARM [ SL:TIME ] ]").graph
    assert SEXPR.read("( day Monday )").graph != SEXPR.read("( day Friday )").graph


def test_thingtalk_is_read_with_its_library():
    programs = TokenFormReader(get_language("thingtalk"), example_library())
    send = "now => @com.example.mail.send param:subject:String = {} "
    send += "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0"
    values = ('" hi "', '" good day "', "QUOTED_STRING_0", "QUOTED_STRING_1")
    one, *others = (programs.read(send.format(value)) for value in values)
    assert {each.kind for each in (one, *others)} == {"valid"}
    assert [each.graph for each in others] == [one.graph] * 3
    assert one.functions == {"@com.example.mail.send": 1}
    assert programs.read("now => @com.nothing.here => notify").kind == "ill-typed"
    assert programs.read("( f )").kind == "unreadable"


# Right and said: equal but for a value; one function missing; another one; nothing said.
RIGHT = ["( f ( g 1L ) )", "( f ( g 1L ) )", "( f ( g 1L ) )", "( f )"]
SAID = ["( f ( g 2L ) )", "( f )", "( f ( h 1L ) ( h 2L ) )", ""]


def test_matches_by_hand():
    found = figures_of_matches(match_programs(RIGHT, SAID, SEXPR), QUICK)
    values = {name: figure["value"] for name, figure in found.items()}
    assert values["graph_match"] == 1 / 4
    assert values["precision"] == pytest.approx((1 + 1 + 1 / 3 + 0) / 4)
    assert values["recall"] == pytest.approx((1 + 1 / 2 + 1 / 2 + 0) / 4)
    assert values["micro_precision"] == pytest.approx((2 + 1 + 1) / (2 + 1 + 3))
    assert values["micro_recall"] == pytest.approx((2 + 1 + 1) / (2 + 2 + 2 + 1))


def test_the_breakdown_looks_at_rows_of_one_function():
    found = match_programs(RIGHT, SAID, SEXPR, only="g")
    assert len(found) == 3
    assert sum(one.is_same_graph for one in found) == 1


def test_unreadable_programs_match_nothing_not_even_each_other():
    assert not any(one.is_same_graph for one in match_programs(["( f", ""], ["( f", ""], SEXPR))


@given(st.lists(st.sampled_from(RIGHT), min_size=1, max_size=5))
def test_programs_match_themselves(texts):
    found = figures_of_matches(match_programs(texts, texts, SEXPR), QUICK)
    assert {figure["value"] for figure in found.values()} == {1}


def test_graphs_of_rows_that_are_no_pairs_by_hand():
    real = [SEXPR.read(text) for text in ("( f 1L )", "( f 2L )", "( g )", "( h )")]
    other = [SEXPR.read(text) for text in ("( f 3L )", "( g )", "( x )")]
    found = graph_coverage(real, other)
    assert (found.recall, found.precision) == (3 / 4, 2 / 3)


def test_the_loss_of_a_word_by_hand():
    model = NgramModel(["a"])
    # Letters: after each history once "a" or the end, so each level halves what is missing. Below
    # lies the chance of the letter anywhere: "a" and the end were seen once each.
    below = 1 / 0x110000
    once = (1 + 2 * below) / 4  # of two events, two kinds
    first = once
    for _ in range(4):
        first = (1 + first) / 2
    # "a" ended once, whatever of the history is looked at.
    end = once
    for _ in range(4):
        end = (1 + end) / 2
    spelled = first * end
    assert isclose(model.spelled("a"), log(spelled))
    single = (1 + 2 * spelled) / 4  # "a" and the end of the sentence: two events of two kinds
    a = (1 + (1 + single) / 2) / 2
    stop = (1 + (1 + (1 + 0) / 4) / 2) / 2
    ((nats, tokens),) = model.losses(["a"])
    assert tokens == 2
    assert isclose(nats, -log(a) - log(stop))


def test_chances_after_a_history_sum_to_one():
    model = NgramModel(["wake me up", "wake him", "me"])
    counts = model._words
    for history in (("\t", "\t"), ("wake", "me"), ("never", "seen")):
        known = sorted(counts.after[()])
        total = sum(exp(counts._log(history, event, model.spelled)) for event in known)
        unseen = 1 - sum(exp(model.spelled(word)) for word in known)
        # What is left is that of all other words, each by its letters.
        left = 1.0
        for start in range(len(history) + 1):
            seen = counts.after.get(history[start:])
            if seen is not None:
                left *= len(seen) / (counts.totals[history[start:]] + len(seen))
        assert isclose(total + left * unseen, 1)


def test_garbage_has_a_higher_loss_than_sentences_and_shuffled_words():
    rng = random.Random(0)
    places = ("home", "work", "the station", "my sister")
    rows = [f"drive me to {place} {when}" for place in places for when in ("now", "later", "soon")]
    model = CrossFitted(rows)

    def loss(texts):
        found = model.losses(texts)
        return sum(nats for nats, _ in found) / sum(tokens for _, tokens in found)

    shuffled = [" ".join(rng.sample(row.split(), len(row.split()))) for row in rows]
    garbage = ["xqz blorp vvk", "zzz ttt"]
    held_out = model.held_out(rows)
    assert loss(rows) < sum(n for n, _ in held_out) / sum(t for _, t in held_out)
    assert loss(rows) < loss(shuffled) < loss(garbage)


@pytest.mark.parametrize("letter", ["w", "你"])
def test_the_loss_of_a_word_grows_with_its_letters_however_many_there_are(letter):
    # A generator under strong privacy may write words without end, a user Chinese without spaces.
    model = NgramModel(["wake me up", "wake me"])
    lengths = (1000, 2000, 3000, 4000)
    losses = [nats for ((nats, _),) in (model.losses([letter * n]) for n in lengths)]
    steps = [longer - shorter for shorter, longer in pairwise(losses)]
    assert min(steps) > 1000
    assert steps == pytest.approx([steps[0]] * 3)


def test_halves_need_two_different_sentences():
    with pytest.raises(GenieError, match="J003"):
        CrossFitted(["wake me up"] * 5)


def test_a_repeated_sentence_is_in_one_half():
    rows = [f"sentence number {i}" for i in range(8)]
    assert CrossFitted(rows * 3).held_out(rows)[0][0] > NgramModel(rows).losses(rows)[0][0]


def corpus(name, pairs):
    return Corpus(name, tuple(ComparedRow(utterance, program) for utterance, program in pairs))


REAL = corpus(
    "real",
    [(f"set {what} for {when}", f"( set_{what} ( at {n}L ) )")
     for n, when in enumerate(("six", "seven", "eight", "nine"))
     for what in ("alarm", "timer")],
)  # fmt: skip
OFF = Comparison(SEXPR, None, intervals=QUICK)


def test_real_rows_against_themselves_are_perfect():
    (found,) = compare_corpora(REAL, [REAL], OFF)["synthetic"]
    figures = found["figures"]
    lower = {"chi_square": 0.0}
    perfect = {name: one["value"] for name, one in figures.items() if name != "loss"}
    assert perfect == {name: lower.get(name, 1.0) for name in perfect}
    assert len(perfect) == 10


def test_the_order_of_rows_is_no_matter():
    turned, half = Corpus("real", REAL.rows[::-1]), Corpus("half", REAL.rows[:5])
    found = compare_corpora(turned, [Corpus("half", half.rows[::-1])], OFF)
    assert compare_corpora(REAL, [half], OFF) == found


def test_all_files_are_compared_at_the_size_of_the_smallest():
    small = Corpus("small", REAL.rows[:3])
    found = compare_corpora(REAL, [small, REAL], OFF)
    assert found["rows"] == 3
    assert [one["rows_in_file"] for one in found["synthetic"]] == [3, 8]


def test_with_a_parser_functions_are_its_and_rows_are_compared_with_it():
    def parse(utterances):
        return ["( set_alarm ( at 1L ) )" if "alarm" in text else "( f" for text in utterances]

    how = Comparison(SEXPR, None, parse=parse, intervals=QUICK)
    found = compare_corpora(
        REAL, [Corpus("texts", tuple(ComparedRow(r.utterance) for r in REAL.rows)), REAL], how
    )
    texts, pairs = (one["figures"] for one in found["synthetic"])
    # Of set_alarm, set_timer and at, two are said.
    assert texts["function_overlap"]["value"] == 2 / 3
    assert "graph_match" not in texts
    assert pairs["graph_match"]["value"] == pairs["recall"]["value"] == 0.5
    assert found["real"]["figures"]["function_overlap"]["value"] == 2 / 3
    assert found["real"]["figures"]["graph_match"]["value"] == 0.5


def test_functions_are_named_for_public_rows_only():
    assert compare_corpora(REAL, [REAL], OFF)["functions"] is None
    public = Comparison(SEXPR, None, intervals=QUICK, is_public=True)
    named = compare_corpora(REAL, [REAL], public)["functions"]
    assert [one["name"] for one in named] == ["at", "set_alarm", "set_timer"]
    assert named[0] == {"name": "at", "real": 0.5, "synthetic": [0.5]}


@pytest.mark.parametrize(
    ("real", "synthetic", "how", "code"),
    [
        (Corpus("r", ()), REAL, OFF, "J004"),
        (REAL, Corpus("s", ()), OFF, "J004"),
        (REAL, REAL, Comparison(SEXPR, None, rows=9), "J004"),
        (REAL, Corpus("s", (*REAL.rows, ComparedRow("hello"))), OFF, "J005"),
        (corpus("r", [("wake me", "now => @a.b"), ("up", "x y")]), REAL, OFF, "J007"),
    ],
)
def test_corpora_that_cannot_be_compared_are_refused(real, synthetic, how, code):
    with pytest.raises(GenieError, match=code):
        compare_corpora(real, [synthetic], how)


def test_rows_without_programs_are_measured_as_sentences():
    texts = Corpus("texts", tuple(ComparedRow(row.utterance) for row in REAL.rows))
    (found,) = compare_corpora(texts, [texts], Comparison(None, None, intervals=QUICK))["synthetic"]
    assert set(found["figures"]) == {"word_overlap", "word_precision", "loss", "copies"}


def test_measures_are_imported_without_what_trains():
    code = (
        "import sys; import genie_dp.private.metrics.compare, genie_dp.private.metrics.figures\n"
        "import genie_dp.private.metrics.language_model\n"
        "print([m for m in ('torch', 'transformers', 'mauve', 'faiss', 'sklearn', 'dp_accounting') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
