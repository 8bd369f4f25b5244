"""Reading takes linear time."""

import subprocess
import sys

import pytest

from genie_dp.locale import LOCALE
from genie_dp.parser.reading.choices import read_choices
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


def test_reading_imports_no_heavy_library():
    code = (
        "import sys; from genie_dp.parser.reading.grammar_reader import load_reader; load_reader();"
        "heavy = {'torch', 'transformers', 'phonenumbers', 'numpy'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
