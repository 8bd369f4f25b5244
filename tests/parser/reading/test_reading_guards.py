"""Reading takes linear time."""

import subprocess
import sys
from contextlib import closing

import pytest

from genie_dp.locale import LOCALE
from genie_dp.parser.reading.choices import read_choices
from genie_dp.parser.reading.duckling_reader import (
    DucklingProcess,
    DucklingReader,
    mask_slots,
    windows,
)
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.parser.reading.sentence import sentence
from tests.parser.reading.reading_cases import NOW

REPEATED = (
    "at 5 pm ", "tomorrow at 8 ", "one hundred and ", "5 feet 3 inches and ", "next friday ",
    "one ", "an hour and a half ", "new york ", "$5 and 20 cents ", "half past ", "in the ",
    "the 2nd of may ", "between 2 and 4 ", "2 minutes ", "minus ", "a dozen ", "march the ",
    "thousand million ", "from monday to ", "every monday and ", "at 5 and ", "1 to 2 million ",
    "friday the 31st ", "3 - 5 march ", "$5 - ", "-$5 and ", "2m 30s ",
)  # fmt: skip


def work(text: str) -> int:
    """Return how many places were looked at to read a text."""
    s = sentence(text, LOCALE)
    candidates = list(GrammarReader().candidates(s, NOW))
    read_choices(s, candidates, most=1)
    return s.work[0] + len(candidates)


@pytest.mark.parametrize("phrase", REPEATED)
def test_twice_as_long_a_text_is_twice_as_much_work_and_a_word_costs_so_many_looks(phrase: str):
    few, many = work(phrase * 25), work(phrase * 50)
    assert many <= 2.1 * few + 100
    assert many <= 150 * 50 * len(phrase.split())


def test_no_window_of_duckling_has_more_than_four_times():
    s = sentence("at 5 pm " * 50, LOCALE)
    found = windows(s)
    assert 1 <= len(found) <= 8
    for first, end in found:
        assert s.words[first:end].count("pm") <= 6
    assert all(a[1] <= b[0] for a, b in zip(found, found[1:], strict=False))


def test_duckling_is_asked_about_words_of_time_alone_and_sees_no_placeholder():
    assert windows(sentence("play the weeknd and turn on 3 lights", LOCALE)) == ()
    s = sentence("NUMBER_0 days after tomorrow", LOCALE)
    assert mask_slots(s, (0, len(s.words))) == "xxxxxxxx days after tomorrow"


@needs_duckling
def test_a_duckling_that_is_late_is_killed_and_the_grammar_reads_alone(
    caplog: pytest.LogCaptureFixture,
):
    def values(text: str) -> list[str]:
        return [value.value for value in reader.read(text, now=NOW).values.values()]

    with closing(DucklingReader(GrammarReader(), deadline=0.5)) as reader:
        assert len(values("at 5 pm " * 50)) == 50
        child = reader.process._process
        assert child is not None
        child.send_signal(signal.SIGSTOP)  # it will not answer any more
        assert values("next friday at 5 pm") == ["date:2027-01-15T17:00:00"]
        assert reader.process.late == 1
        assert child.poll() is not None
        assert "no answer" in caplog.text
        # What the grammar does not know.
        assert values("on the last day of october") == ["date:2027-10-31"]


def test_a_worker_that_dies_is_no_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with closing(DucklingProcess(deadline=0.5)) as process:
        assert process.ask(["tomorrow"], NOW) is None


def test_reading_imports_no_heavy_library():
    code = (
        "import sys; from genie_dp.parser.reading.grammar_reader import load_reader; load_reader();"
        "heavy = {'torch', 'transformers', 'phonenumbers', 'numpy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
