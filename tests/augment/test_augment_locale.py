"""Noise and written values in other languages, and English as it was."""

import json
import re
from random import Random

import pytest

from genie_dp import cli
from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.expand import is_fit_all
from genie_dp.augment.made_texts import made_texts
from genie_dp.augment.noise import NoiseRates, add_noise, carrier_of, mistype, speech_of
from genie_dp.locale import languages, sentences_of, words_of
from genie_dp.skills.words import tokenize
from tests.dataset.dataset_rows import read, write
from tests.golden import cases, rewrite

LOUD = NoiseRates.from_config(
    AugmentConfig(filler=0.8, drop_article=0.4, typo=0.1, drop_punctuation=0.5, number_words=0.5)
)
NOISE = cases("noise/english.txt")
GERMAN = "mach das licht in der küche an und stelle die heizung im flur auf 21 grad"


def noisy(sentence, language="en", number=8):
    found, rng = carrier_of(sentence, (), speech_of(language)), Random(11)
    return [add_noise(found, LOUD, rng) or " ".join(sentence) for _ in range(number)]


def test_noise_of_english_is_as_it_was(request):
    """What rows of English get has not changed since words lie in a file: the same bytes."""
    actual = {case.name: "\n".join(noisy(case.input.split())) for case in NOISE}
    if request.config.getoption("--update-golden"):
        rewrite(NOISE[0].path, actual)
    assert actual == {case.name: case.expected for case in NOISE}


@pytest.mark.parametrize("language", ["de", "es", "fr", "nl"])
def test_noise_is_of_the_language_alone(language):
    pytest.importorskip("unicode_rbnf")
    words, english = words_of(language), words_of("en")
    added = {
        filler
        for sentence in noisy(["xyzzy", "qrsst"], language, 600)
        for filler in (sentence.partition(" xyzzy")[0], sentence.partition("qrsst ")[2])
        if filler
    }
    known = {*words.greetings, *words.requests, *words.endings, *words.command_endings}
    assert len(added & known) > 8
    assert not added & (set(english.requests) | set(english.endings)) - known


def test_german_is_noisy_without_english():
    pytest.importorskip("unicode_rbnf")
    said = noisy(GERMAN.split(), "de", 400)
    assert any("einundzwanzig grad" in sentence for sentence in said)
    assert any(sentence.startswith("mach licht") for sentence in said)
    assert any("äh in der" in sentence or "ähm in der" in sentence for sentence in said)
    assert any(sentence.startswith(("bitte mach", "sei so gut und mach")) for sentence in said)
    assert not any("twenty" in sentence or "please" in sentence for sentence in said)


def test_a_file_with_hardly_a_word_makes_little_noise(tmp_path):
    pytest.importorskip("unicode_rbnf")
    words = "[locale]\nlanguage = it\n[negations]\nnon\n[endings]\ngrazie\n"
    (tmp_path / "it.txt").write_text(words)
    said = set(
        noisy(
            ["accendi", "la", "luce", "e", "spegni", "3", "lampade", "."],
            f"{tmp_path / 'it.txt'}",
            200,
        )
    )
    assert "accendi la luce e spegni tre lampade grazie" in said
    assert not [sentence for sentence in said if sentence != " ".join(sentence.split())]


def test_a_slip_makes_no_other_word_of_the_sentence():
    pytest.importorskip("unicode_rbnf")
    german, rng = speech_of("de"), Random(0)
    slips = [mistype("seine", rng, german, ("seien", "seine")) for _ in range(400)]
    assert slips.count("seien") + slips.count("eine") < 12
    assert len(set(slips)) > 10


def command(folder, words, utterance, tool, parameter, type_, *options):
    """Return the sentences that a command makes of one row of German."""
    token = utterance.split()[[word.isupper() for word in utterance.split()].index(True)]
    row = {
        "id": "S0", "utterance": utterance, "language": "calls", "functions": [tool],
        "program": f"{tool}( {parameter}= {token} )",
        "slots": {token: {"type": type_, "parameter": f"{tool}:{parameter}"}},
    }  # fmt: skip
    properties = {parameter: {"type": "integer" if type_ == "Number" else "string"}}
    tools = [{"name": tool, "parameters": {"properties": properties}}]
    (folder / "tools.json").write_text(json.dumps(tools))
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    words = [*words, folder / "rows.jsonl", "--language", "calls", "--locale", "de", *options]
    assert cli.run([*map(str, words), "--output", str(folder / "made.jsonl")]) == 0
    return read(folder / "made.jsonl")


def augmented(folder, *row, more=()):
    pytest.importorskip("unicode_rbnf")
    return command(folder, ["augment"], *row, "--skills", folder / "tools.json", *more)


def test_the_command_writes_german(tmp_path, capsys):
    row = "dimme das licht auf NUMBER_0 prozent", "dim", "level", "Number"
    made = augmented(tmp_path, *row, more=("--written", 1, "--primitive", 30))
    told = capsys.readouterr().err
    assert "no lists of values of 'de' are shipped" in told
    assert "no words of 'de' with the same meaning" in told
    said = " ".join(row["utterance"] for row in made)
    assert len(made) > 20
    assert any(word in said for word in ("zehn", "hundert", "zwanzig", "dreißig", "fünf"))
    assert not [word for word in ("please", "thanks", "twenty", "hundred") if word in said.split()]


def test_texts_of_german_rows_are_words(tmp_path):
    row = "sag allen QUOTED_STRING_0", "say", "text", "String"
    made = augmented(tmp_path, *row, more=("--primitive", 20))
    texts = {re.fullmatch(r'say\( text= " (.*) " \)', row["program"])[1] for row in made
             if "QUOTED" not in row["program"]}  # fmt: skip
    assert len(texts) > 10
    assert all(any(f" {text} " in f" {row['utterance']} " for row in made) for text in texts)


def test_automatic_paraphrases_have_no_rules_of_german(tmp_path, capsys):
    rows = write(tmp_path / "rows.jsonl", [])
    for given, told in (
        ([], "no rules of 'de': name your own by --rules FILE --only-my-rules"),
        (["--by", "lexical"], "no words of 'de' of the same meaning"),
        (["--by", "lexical", "--lexicon", "wordnet"], "name your own by --lexicon FILE"),
        (["--by", "endpoint", "--model", "m", "--base-url", "http://x"], "by --prompt FILE"),
    ):
        assert cli.run(["data", "paraphrase", "auto", str(rows), "--locale", "de", *given]) == 2
        assert told in capsys.readouterr().err


RULES = """
[order/licht]
in: ^ mach das licht $x an $
out: schalte das licht $x ein
eg: mach das licht im flur an => schalte das licht im flur ein
"""


def test_rules_of_somebodys_own_paraphrase_german(tmp_path):
    (tmp_path / "de.rules").write_text(RULES)
    words = ["data", "paraphrase", "auto", "--rules", tmp_path / "de.rules", "--only-my-rules"]
    row = "mach das licht im QUOTED_STRING_0 an", "dim", "room", "String"
    (made,) = command(tmp_path, words, *row)
    assert made["utterance"] == "schalte das licht im QUOTED_STRING_0 ein"


@pytest.mark.parametrize("language", [name for name in languages() if name != "en"])
def test_texts_are_made_where_no_list_is_shipped(language):
    made = made_texts(words_of(language))
    assert len(made) > 4000
    assert is_fit_all(made.texts)
    assert all(text == " ".join(tokenize(text)) for text in made.texts)
    sentences = (s for pattern in words_of(language).everyday for s in sentences_of(pattern))
    known = {word for sentence in sentences for word in sentence.split()}
    words = {word for text in made.texts for word in text.split()}
    assert len(words - known) > 1200  # a parser copies what it has not seen
    made_texts.cache_clear()
    assert made_texts(words_of(language)) == made
