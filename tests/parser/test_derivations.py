"""Where texts end, by the templates that a parser keeps."""

import gzip
import json
from datetime import datetime

import pytest

import genie_dp as gd
from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.tokens import quote_words
from genie_dp.locale import words_of
from genie_dp.parser import folder as files
from genie_dp.parser.derivations import Derivations, LazyTemplates
from genie_dp.parser.reading.fill import fill
from genie_dp.parser.reading.said import SentenceReader

TEXT = {"type": "string"}
TOOLS = {
    "tools": [
        {"name": "shop", "parameters": {"required": ["item"], "properties": {"item": TEXT}}},
        {"name": "remind", "parameters": {"required": ["t"], "properties": {"t": TEXT}}},
        {"name": "done", "parameters": {"required": ["id"], "properties": {"id": TEXT}}},
        {"name": "notes"},
        {"name": "tell", "parameters": {"properties": {"text": TEXT, "to": {"enum": ["bo"]}}}},
    ]
}
GRAMMAR = """category COMMAND : program root;
category VP : program;
category the : words;
the := 'the' | 'my';
COMMAND := v:VP -> v;
COMMAND := v:VP 'and' w:VP -> v & w;
VP := ('add' | 'put') '$t' ('to' | 'on') (the)? 'shopping list' -> shop(item = $t);
VP := ('remind me to' | 'i need to' | 'ich muss') '$t' -> remind(t = $t);
VP := 'mark todo $i as done' -> done(id = $i);
VP := 'list' the 'notes' -> notes();
VP := 'i am out of $t' -> shop(item = $t);
VP := 'tell bo $t' | 'tell $t bo' -> tell(text = $t, to = bo);
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    path = tmp_path_factory.mktemp("templates")
    (path / "tools.json").write_text(json.dumps(TOOLS))
    (path / "main.genie").write_text(GRAMMAR)
    return gd.load_grammar(path / "main.genie", gd.load_library(path / "tools.json"))


@pytest.fixture(scope="module")
def derive(inputs):
    values = SentenceReader(inputs.language, inputs.library, now=datetime(2026, 11, 25))
    derivations = Derivations(LazyTemplates.from_inputs(inputs), inputs.library, words_of("en"))

    def fill_texts(program, reading):
        return fill(program, reading.values, language=inputs.language, library=inputs.library)

    def best(sentence):
        found = derivations.find(sentence, values, fill_texts)
        best = [x for x in found if x.doubt == found[0].doubt]
        return [(x.program, [v.text for v in x.reading.values.values()]) for x in best]

    return best


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("add 7UP to my shopping list", "7UP"),
        ("Put 🍕 on the shopping list!", "🍕"),
        ("add Ben and Jerry's to my shopping list", "Ben and Jerry's"),
        ("add Coca-Cola (Zero) to shopping list", "Coca-Cola (Zero)"),
        ("Put Müller's  Käse on my shopping list.", "Müller's  Käse"),
        ("add a card to my mum to my shopping list", "a card to my mum"),
        ("add 3.5% Milk to the shopping list", "3.5% Milk"),
        ("could you add salt & pepper to my shopping list, please?", "salt & pepper"),
        ('add "Der Spiegel" no. 5 to my shopping list', '"Der Spiegel" no. 5'),
        ("I need to pay the Rent", "pay the Rent"),
        ("remind me to call Dr. Ito, thanks", "call Dr. Ito"),
        ("ich muss Müll rausbringen", "Müll rausbringen"),
        ("I'm out of Müller's Milk", "Müller's Milk"),
        ("I’m out of Müller’s Milk", "Müller’s Milk"),
        ("mark todo 3 as done and list my notes", "3"),
        (f"remind me to {'really ' * 30}go", f"{'really ' * 30}go"),
    ],
)
def test_templates_tell_where_a_text_ends(derive, sentence, text):
    assert [texts for _, texts in derive(sentence)] == [[text]]


def test_a_text_may_end_in_two_places_by_two_templates(derive):
    assert len(derive("tell bo hi bo")) == 2


def test_a_text_with_a_contraction_is_never_written_in_full(derive):
    assert derive("i'm out of what's good") == []


def test_all_alternatives_before_a_text_are_explained(inputs):
    for sentence in ("i need to pay the rent", "remind me to pay the rent"):
        for locale in ("en", "de"):  # all of "i need to" are function words of English
            explained = gd.explain(sentence, inputs, locale=locale)
            assert explained.programs == ("remind( t= QUOTED_STRING_0 )",)


def test_words_that_most_functions_say_are_no_search(tmp_path):
    tools = [{"name": n} for n in "abcd"] + [
        {"name": "search", "parameters": {"properties": {"q": TEXT}}}
    ]
    ways = "".join(f"C := 'what is {n} {n}{n}' -> {n}();\n" for n in "abcd")
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    (tmp_path / "main.genie").write_text(
        f"category C : program root;\n{ways}C := 'what is $q' -> search(q = $q);\n"
    )
    inputs = gd.load_grammar(tmp_path / "main.genie", gd.load_library(tmp_path / "tools.json"))
    assert gd.explain("what is a aa", inputs).programs == ("a( )",)
    assert not gd.explain("what is the moon made of", inputs).programs


def test_templates_are_kept_without_their_places(inputs, tmp_path):
    files.write_templates(tmp_path, inputs)
    kept = json.loads(gzip.decompress((tmp_path / files.TEMPLATES).read_bytes()))
    assert kept["files"] == ["main.genie"]
    text = files.read_templates(tmp_path)
    read = files.inputs_of_templates(text, inputs.library, tmp_path)
    assert [t.id for t in read.grammar.templates] == [t.id for t in inputs.grammar.templates]
    (tmp_path / files.TEMPLATES).write_bytes(b"")
    with pytest.raises(GenieError, match="templates.json.gz"):
        files.read_templates(tmp_path)


def test_templates_of_skills_that_were_edited_are_read_anew(tmp_path):
    skill = tmp_path / "com.example.bell"
    skill.mkdir()
    (skill / "skill.tt").write_text("class @com.example.bell { action ring(); }")
    for phrase in ("ring the bell", "sound the bell"):
        (skill / "templates.genie").write_text(f"VP := '{phrase}' -> @com.example.bell.ring();\n")
        assert gd.Parser.of(tmp_path, has_base=False)(phrase).is_known


@pytest.fixture(scope="module")
def parser(inputs):
    return gd.Parser.of(inputs.library, inputs, has_base=False)


def test_a_parser_that_was_not_trained_answers_what_templates_say(parser):
    reply = parser("Add 7UP to my shopping list, please")
    assert (reply.refused, reply.answers[0].by) == (None, "derived")
    assert reply.calls == [{"name": "shop", "arguments": {"item": "7UP"}}]
    assert parser("who painted the night watch").refused == "out_of_scope"
    assert parser("tell bo hi bo").refused == "ambiguous"
    assert parser("").refused == "empty"
    both = parser("tell bo hi bo", n=2)
    assert len({answer.code for answer in both.answers}) == 2


def test_what_was_indexed_is_read_again_with_the_same_answers(
    inputs, parser, tmp_path, monkeypatch
):
    monkeypatch.setenv("GENIE_DP_CACHE", str(tmp_path))
    sentences = ["add 3.5% Milk to the shopping list", "list my notes and mark todo 3 as done"]
    first = gd.Parser.of(inputs.library, inputs, has_base=False)
    expected = [reply.program for reply in first.parse(sentences)]
    assert all(expected)
    assert list(tmp_path.glob("*.derivations"))
    again = gd.Parser.of(inputs.library, inputs, has_base=False)
    monkeypatch.setattr("genie_dp.parser.derivations.compile_inputs", None)
    assert [reply.program for reply in again.parse(sentences)] == expected


def test_fillings_of_every_template_are_answered_with_their_programs(inputs, parser):
    rows = list(gd.synthesize(inputs.library, inputs, size=400, seed=3))
    templates = {name for row in rows for name in row.derivation}
    assert templates == {template.id for template in inputs.grammar.templates}
    texts = ("milk", "the blue car", "pay rent", "x 7", "Rock & Roll")
    language, library = inputs.language, inputs.library
    for number, row in enumerate(rows):
        sentence, program = row.utterance, row.program
        for place, name in enumerate(row.slots):
            text = texts[(number + place) % len(texts)]
            sentence = sentence.replace(name, text)
            program = program.replace(name, quote_words(text))
        tree = language.from_tokens(program, library)
        expected = language.render(language.canonical(tree, library))
        reply = parser(sentence, n=8)
        assert reply.refused in (None, "ambiguous"), sentence
        assert expected in [answer.code for answer in reply.answers], sentence
