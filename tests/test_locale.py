"""Words of languages: each file can be read and has what stages need; wrong ones are refused."""

import contextlib

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.importers.project import project_text
from genie_dp.importers.source import Imported
from genie_dp.languages.forms import MARKS
from genie_dp.languages.programs import POLES
from genie_dp.languages.units import SHIPPED
from genie_dp.locale import (
    LOCALE,
    Locale,
    begin_words,
    languages,
    locale_from,
    read_words,
    sentences_of,
    words_of,
)
from genie_dp.project_file import read_places, read_project
from genie_dp.resources import data_folder
from genie_dp.values.spelling import plain_digits, spelled_numbers

OTHERS = tuple(name for name in languages() if not words_of(name).has_grammar)
# Sections that a stage cannot do without.
NEEDED = (
    "negations", "not_negating", "function_words", "articles", "prepositions", "verbs",
    "around_values", "greetings", "requests",
    "endings", "pleases", "thanks", "command_endings", "at_once", "hesitations", "pauses", "keys",
    "not_given", "everyday", "yes", "no", "take_back",
)  # fmt: skip
OF_READERS = (
    "signs", "percent", "units", "times", "days", "months", "weekdays", "dates", "before_times",
)  # fmt: skip


def problems(tmp_path, text):
    path = tmp_path / "xx.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GenieError) as caught:
        read_words(path, language=str(path))
    return [(x.code, x.span.line, x.message) for x in caught.value.problems]


@pytest.mark.parametrize("language", languages())
def test_every_language_has_what_stages_need(language):
    words = words_of(language)
    assert not [name for name in NEEDED if not getattr(words, name)]
    assert words.has_grammar or not [name for name in OF_READERS if not getattr(words, name)]
    assert all("{}" in sentence for sentence in (*words.commands, *words.not_given))
    assert words.articles <= words.function_words
    assert set(words.opposites) <= {sign for poles in POLES for sign in poles}
    assert all(len(pair.split()) == 2 for x in words.opposites.values() for pair in x.split(","))
    assert set(words.marks) == set(MARKS)
    assert set("abcdefghijklmnopqrstuvwxyz") <= words.keys.keys()
    assert set(words.units) <= set(SHIPPED.by_name)
    assert {amount.split()[1] for amount in words.amounts.values()} <= set(SHIPPED.by_name)
    assert (len(words.months), len(words.weekdays)) in ((12, 7), (0, 0))


@pytest.mark.parametrize(("language", "least"), [("de", 150), ("nl", 40), ("fr", 40), ("es", 40)])
def test_everyday_sentences_are_many_and_none_comes_twice(language, least):
    words = words_of(language)
    sentences = [sentence for pattern in words.everyday for sentence in sentences_of(pattern)]
    assert len(words.everyday) >= least
    assert len(set(sentences)) >= len(sentences) - 5
    assert not [s for s in sentences if s != " ".join(s.split()) or set("()|") & set(s)]


@pytest.mark.parametrize("language", OTHERS)
def test_numbers_in_words_are_read_back(language):
    pytest.importorskip("unicode_rbnf")
    words = words_of(language)
    numbers = spelled_numbers(words)
    for number in range(1001):
        tokens = [*numbers.spell(number).split(), "lampen"]
        found = numbers.find(tokens, 0)
        if numbers.spell(number) in words.articles:
            assert found is None
        else:
            assert found is not None
            assert (plain_digits(found.value), found.end) == (str(number), len(tokens) - 1)


def test_a_language_has_the_places_that_are_usual_for_it():
    german = locale_from("de")
    assert (german.region, german.currency, german.day_first) == ("DE", "eur", True)
    assert locale_from({"language": "de", "region": "AT"}).region == "AT"
    assert locale_from({}) == LOCALE == locale_from("en")


def test_an_unknown_language_is_refused_with_what_there_is():
    for make in (locale_from, lambda name: Locale(language=name)):
        with pytest.raises(GenieError) as caught:
            make("ed")
        (problem,) = caught.value.problems
        assert problem.code == "N002"
        assert "expected one of de, en, es, fr, nl, got 'ed'" in problem.message
        assert "words/ed.txt" in problem.hint
        assert "docs/locales.md" in problem.hint
    with pytest.raises(GenieError, match="No such file"):
        locale_from("nowhere/it.txt")


def test_mistakes_in_a_file_of_words_have_their_lines(tmp_path):
    text = (
        "a b\n[negations]\nno\n[articles]\nthe a\nthe\n[artikles]\nx\n[articles]\n"
        "[places]\nhere\n[verbs]\nGo\n"
    )
    assert problems(tmp_path, text) == [
        ("R060", 1, "expected a section"),
        ("R060", 6, "'the' comes twice in the section"),
        ("R060", 7, "unknown section 'artikles'"),
        ("R060", 9, "section 'articles' comes twice"),
        ("R060", 11, "expected NAME = VALUE, got 'here'"),
        ("R060", 13, "'Go' has capitals"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[locale]\nregion = it", "expected two capital letters, such as GB, got 'it'"),
        ("[locale]\nregoin = IT", "unknown setting 'regoin'"),
        ("[locale]\nnight = 24", "expected an hour from 1 to 23, got '24'"),
        ("[times]\nH uhr = H-1", "expected a time such as H-1:30, got 'H uhr = H-1'"),
        ("[numbers]\nzwo = two", "expected a number such as 1.5, got 'zwo = two'"),
        ("[amounts]\nhalbe = 30", "expected a number and a unit, such as 30 min, got 'halbe = 30'"),
        ("[not given]\nnever", "expected {} for the command, got 'never'"),
        ("[signs]\ndecimal = x", "expected decimal or thousands = . or ,, got 'decimal = x'"),
        (
            "[opposites]\n> = mehr weniger",
            "expected SIGN = WORD OPPOSITE, WORD OPPOSITE .., and > and >= in [comparisons], "
            "got '> = mehr weniger'",
        ),
        (
            "[comparisons]\n< = weniger als / mehr als",
            "expected > or >= or after = PHRASE / OPPOSITE, PHRASE / OPPOSITE .., "
            "got '< = weniger als / mehr als'",
        ),
        (
            "[marks]\nall = alle",
            "expected alert, repeat, count, rank, refer or show = PHRASE, PHRASE .., "
            "got 'all = alle'",
        ),
        ("[weekdays]\nmo\ndi", "expected 7 lines of weekdays, got 2"),
    ],
)
def test_what_a_section_cannot_use_is_a_mistake(tmp_path, text, told):
    ((code, _, message),) = problems(tmp_path, f"{text}\n[negations]\nno\n")
    assert (code, message) == ("R060", told)


def test_a_language_says_how_it_denies_and_these_words_are_none_that_say_nothing(tmp_path):
    assert problems(tmp_path, "[verbs]\naccendi\n") == [
        ("R060", 1, "expected a section of negations, got none")
    ]
    text = "[articles]\nil\n[negations]\nnon, mai\n[function words]\ne\ndi mai\n"
    message = "'mai' is one of the negations: it is none of the function words"
    assert problems(tmp_path, text) == [("R060", 7, message)]


def test_a_project_whose_language_says_no_negations_is_a_mistake_of_check(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv("GENIE_DP_PROJECT")
    (tmp_path / "it.txt").write_text("[articles]\nil\n")
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "stop"}]}')
    (tmp_path / "main.genie").write_text("category B : program root;\nB := 'ferma' -> stop();\n")
    project = "skills: tools.json\ngrammar: main.genie\nlocale: it.txt\nstages: {}\n"
    (tmp_path / "genie.yaml").write_text(project)
    with contextlib.chdir(tmp_path):
        assert run(["check"]) == 1
        told = capsys.readouterr().err
        assert "it.txt:1:1: error[R060]: expected a section of negations, got none" in told
        assert told.count("error[") == told.count("hint: ") == 1
        (tmp_path / "it.txt").write_text("[articles]\nil\n[negations]\nnon\n")
        assert run(["check"]) == 0


def test_a_file_of_somebodys_own_is_a_language(tmp_path):
    path = tmp_path / "it.txt"
    path.write_text("[locale]\nregion = IT\nlanguage = it\n[articles]\nil la\n[negations]\nnon\n")
    words = locale_from(str(path)).words
    assert (words.has_grammar, words.number_language, words.articles) == (False, "it", {"il", "la"})


PROJECT = """
locale: de
stages:
  more: {augment: {seed: 1}, of: rows.jsonl}
  own: {augment: {locale: fr}, of: rows.jsonl}
  parser: {train: {steps: 10, locale: {currency: chf}}, of: more}
"""


def test_a_project_says_its_language_once(tmp_path):
    (tmp_path / "rows.jsonl").touch()
    file = tmp_path / "genie.yaml"
    file.write_text(PROJECT)
    stages = read_project(file).stages
    assert [stages[name].settings["locale"] for name in ("more", "own")] == ["de", "fr"]
    assert stages["parser"].settings["locale"] == {"language": "de", "currency": "chf"}
    assert read_places(file).locale == "de"
    file.write_text(PROJECT.replace("locale: de\n", "locale: ed\n"))
    with pytest.raises(GenieError) as caught:
        read_project(file)
    (problem, *_) = caught.value.problems
    assert (problem.code, problem.span.line) == ("R051", 2)


def test_a_language_without_a_file_has_no_words_of_another_one():
    italian, english = words_of("it"), words_of("en")
    assert (italian.language, italian.number_language, italian.percent) == ("it", "it", ("%",))
    assert "non" in italian.negations
    assert not (italian.function_words | italian.articles | set(italian.greetings))
    assert not {"degrees", "dollars", "hours"} & set(" ".join(italian.units.values()).split())
    assert locale_from("it").day_first
    assert english.language == "en"


def test_an_imported_project_says_its_language():
    for language, line in {
        "de": "locale: de\n", "de-CH": "locale: de\n", "it": "locale: it\n", "xx": "", "en": "",
        "pt-BR": "locale: pt\n", "tr": "locale: tr.txt\n", "en-GB": "",
    }.items():  # fmt: skip
        text = project_text(Imported({}, (), locale=language))
        assert f"output: build\n{line}jobs" in text


def test_a_file_of_words_is_begun_with_the_negations_of_the_language(tmp_path):
    path = tmp_path / "it.txt"
    path.write_text(begin_words("it"), encoding="utf-8")
    words = read_words(path, language=str(path))
    assert {"non", "mai", "senza", "invece di"} <= {*words.negations}
    assert words.number_language == "it"
    # Of Turkish, which denies by endings, there are none: somebody has to say them.
    assert problems(tmp_path, begin_words("tr")) == [
        ("R060", 8, "expected a section of negations, got none")
    ]


def test_no_language_is_said_twice_in_the_table_of_negations():
    rows = (data_folder("locales") / "negations.tsv").read_text(encoding="utf-8").splitlines()[1:]
    codes = [row.split("\t")[0] for row in rows]
    assert codes == sorted(set(codes))
    assert not {*codes} & {*languages()}
    for code in codes:
        negations = begin_words(code).splitlines()[-1].split(", ")
        assert len(set(negations)) == len(negations) >= 7
        assert all(word == word.lower().strip() for word in negations)
