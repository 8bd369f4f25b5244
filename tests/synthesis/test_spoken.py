"""Values in sentences, found by the templates: over a reader that is made up."""

import pytest

from genie_dp.synthesis.chart import Chart, ChartGrammar, TooMuchWorkError
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.explain import Explainer
from genie_dp.synthesis.spoken import (
    FoundValue,
    IndexedGrammar,
    NameOrText,
    ReadValues,
    ValueFinder,
)
from genie_dp.synthesis.wording import FunctionWords
from genie_dp.templates.cache import load_inputs
from tests.golden import DATA, cases
from tests.skills.skill_files import write_library

JUKEBOX = "@com.example.jukebox"
SONG, BAND, CRATE = (f"GENERIC_ENTITY_com.example.jukebox:{x}" for x in ("song", "band", "crate"))


class MadeUpReader:
    """Knows the number 7, one list of bands, and that all else may be a name or a text."""

    def __init__(self):
        self.asked = []

    def is_open(self, stem):
        return stem in (SONG, BAND, CRATE, "QUOTED_STRING")

    def read(self, text):
        words = tuple(text.split())
        if "7" not in words:
            return [ReadValues(words, {})]
        tokens = tuple("NUMBER_0" if word == "7" else word for word in words)
        return [ReadValues(tokens, {"NUMBER_0": FoundValue("7", "7")})]

    def stems_of(self, words, stems, is_known):
        listed = {stem for stem in stems if self.as_value(stem, words).value.how == "listed"}
        return listed if is_known else stems

    def as_value(self, stem, words):
        self.asked.append(words)
        if stem == BAND and words == ("the", "larks"):
            return NameOrText(FoundValue("the larks", "", "listed"), 0.1)
        return NameOrText(FoundValue(" ".join(words), "", "name"), float(len(words)))

    def links(self, tokens):
        return [
            (start, start + 2, BAND)
            for start in range(len(tokens) - 1)
            if tokens[start : start + 2] == ("the", "larks")
        ]

    def apart(self, tokens, words):
        return tokens

    def takes_negation(self, tokens, start, end):
        return False

    def content_words(self, words):
        return [word for word in words if word not in ("the", "a", "it", "into", "my", "me", "on")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    text = (DATA / "coverage" / "library.txt").read_text(encoding="utf-8")
    folder = write_library(tmp_path_factory.mktemp("spoken"), text)
    return compile_inputs(load_inputs("thingtalk", [folder / "skills"], [folder / "main.genie"]))


@pytest.fixture(scope="module")
def spoken(compiled):
    reader = MadeUpReader()
    return ValueFinder(IndexedGrammar.from_compiled(compiled, reader), reader)


def best(spoken, text):
    found = spoken.find(text)
    return " ".join(found.readings[0].tokens) if found.readings else None


def test_values_stand_where_templates_have_placeholders(spoken, golden):
    [case] = cases("coverage/values.txt")
    golden(case, "\n".join(best(spoken, line) or "nothing" for line in case.input.splitlines()))
    assert best(spoken, "") is None


def test_values_keep_their_words_and_fewer_words_are_likelier(spoken):
    reading = spoken.find("put blue moon into summer").readings[0]
    assert reading.values[f"{SONG}_0"].words == "blue moon"
    assert reading.values[f"{CRATE}_0"].words == "summer"
    (reading,) = spoken.find("post my songs longer than it").readings
    assert reading.is_unlikely  # words of another function
    (reading,) = spoken.find("post hello there").readings
    assert not reading.is_unlikely
    readings = spoken.find("put x into y into z").readings
    assert len(readings) == 2
    assert [r.doubt for r in readings] == sorted(r.doubt for r in readings)


def test_a_guess_links_listed_names_that_no_template_says(spoken):
    read = spoken.guess("what have the larks done 7 times")
    assert read.tokens == ("what", "have", f"{BAND}_0", "done", "NUMBER_0", "times")
    assert read.values[f"{BAND}_0"].how == "listed"


def test_a_closed_chart_derives_the_programs_that_an_open_one_finds(compiled, spoken):
    explainer = Explainer(compiled)
    texts = (
        "play x y", "put x into y into z", "get my x songs by y", "post x", "get my x songs",
        f"put {SONG}_0 into summer", f"put blue moon into {CRATE}_0",
        "show me the notes on the wall with more than 7 stars",
    )  # fmt: skip
    readings = [reading for text in texts for reading in spoken.find(text).readings]
    assert len(readings) >= 5
    assert all(reading.programs for reading in readings)
    assert [r.programs for r in readings] == [explainer.programs_of(r) for r in readings]


def test_a_grammar_that_is_not_open_asks_for_no_value(compiled):
    reader = MadeUpReader()
    chart = Chart(ChartGrammar(compiled), stems_of=reader.stems_of)
    assert not chart.cell("COMMAND", ("play", "blue", "moon"))
    assert not reader.asked


def test_a_chart_stops_after_so_much_work(compiled, spoken):
    chart = Chart(spoken.grammar, stems_of=lambda words, stems, is_known: stems, most_work=3)
    with pytest.raises(TooMuchWorkError):
        chart.cell("COMMAND", ("put", "a", "b", "into", "c"))


def test_words_weigh_by_how_few_functions_have_them(compiled):
    words = FunctionWords.from_grammar(compiled)
    assert words.weight("crate") == 0  # no template says it
    assert words.weight("wall") > 0
    assert words.weight("play") > words.weight("into") - 1
    assert words.nearest(["songs", "my"])[0] == (f"{JUKEBOX}.songs", ("songs", "my"))
    assert not words.nearest(["melody"])
    name, said = words.nearest(["melody", "it"], are_english=True)[0]
    assert name.startswith(JUKEBOX)
    assert said[-1].startswith("melody ~ ")
    assert words.nearest(["songs", "my"], are_english=True) == words.nearest(["songs", "my"])
    assert words.shared(f"{JUKEBOX}.play", ["play", "it"]) == ("play",)
