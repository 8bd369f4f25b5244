"""The grammar as a generator of private evolution: what holds of every candidate."""

import json
from collections import Counter
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.cli.inputs import load_inputs
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.evolution.build import GeneratorBuilder
from genie_dp.private.evolution.config import EvolutionRecipe
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.tables.extract import EXTRACTORS, FIXED, bucket_of
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.records import Example
from genie_dp.run import cache as parsed
from genie_dp.synthesis import cache as lexicon
from genie_dp.synthesis import engine as synthesis
from genie_dp.templates.inputs import load_library
from tests.private.evolution.evolution_grammar_setup import (
    engine,
    engine_of,
    explainer,
    generator,
    sexpr,
    tiny,
)
from tests.synthesis.synthesis_project import notes
from tests.synthesis.synthesis_setup import few

SEEDS = st.integers(0, 10**6)
STRENGTHS = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
LAWS = settings(max_examples=8, deadline=None)

INBOX, SEND = "@com.example.mail.inbox", "@com.example.mail.send"
STATE, POWER = "@com.example.lights.state", "@com.example.lights.set_power"
BOOKS, SITES = "@com.example.books.books", "@com.example.web.sites"
SMALL = ["tiny", "sexpr"]


def functions_of(candidate):
    return sorted(set(candidate.example.functions))


def is_derived(name, row):
    """Tell whether the grammar derives the sentence with the program of a row."""
    return row.program in explainer(name).explain(row.utterance).programs


# -------------------------------------------------------------------------------- candidates


@pytest.mark.parametrize("name", SMALL)
@LAWS
@given(seed=SEEDS, strength=STRENGTHS)
def test_the_grammar_derives_every_candidate_and_variation_with_its_program(name, seed, strength):
    made = generator(name)
    parents = made.random([{}] * 8, seed=seed)
    for candidate in (*parents, *made.vary(parents, strength, seed=seed)):
        assert is_derived(name, candidate.example)
    for parent, child in zip(parents, made.vary(parents, 0.0, seed=seed), strict=True):
        assert sorted(child.example.functions) == sorted(parent.example.functions)
        assert child.metadata == parent.metadata


@pytest.mark.slow
def test_the_shipped_grammar_derives_candidates_and_variations():
    made = generator("few")
    parents = made.random([{}] * 12, seed=7)
    varied = [c for strength in (0.0, 0.5, 1.0) for c in made.vary(parents[:6], strength, seed=7)]
    for candidate in (*parents, *varied):
        assert is_derived("few", candidate.example)


@pytest.mark.slow
@LAWS
@given(seed=SEEDS, strength=STRENGTHS)
def test_programs_type_check_and_have_the_functions_that_rows_name(seed, strength):
    language, library = few().language, few().library
    made = generator("few")
    parents = made.random([{}] * 10, seed=seed)
    for candidate in (*parents, *made.vary(parents, strength, seed=seed)):
        row = candidate.example
        program = language.from_tokens(row.program)
        assert not language.check(program, library)
        assert language.tokens(language.canonical(program, library), library) == row.program
        assert Counter(row.functions) == language.functions(program)
        assert set(row.slots) <= set(row.utterance.split())


def test_rows_are_written_as_synthesis_writes_them():
    [plain] = generator("tiny").random([{"functions": POWER}], seed=1)
    assert (plain.example.source, plain.example.language) == ("synthetic", "thingtalk")
    assert plain.example.derivation[-1].startswith("com.example.lights.VP")
    [mail] = generator("tiny").random([{"functions": SEND, "slots": "QUOTED_STRING"}], seed=1)
    assert mail.example.slots["QUOTED_STRING_0"].parameter == f"{SEND}:message"


def test_candidates_of_a_call_differ_and_where_they_run_out_that_is_counted():
    made = generator("tiny")
    sentences = [c.example.utterance for c in made.random([{}] * 150, seed=4)]
    assert len(set(sentences)) == 150
    found = made.random([{"functions": f"{STATE} {POWER}", "length": "0-3"}] * 40, seed=0)
    assert len(found) == 40
    assert made.counts["unmet length"] + made.counts["repeated"] > 0


def test_templates_that_refuse_everything_are_a_mistake(tmp_path):
    files = {
        "main.genie": """\
using "functions.py";
category SENTENCE : program root "errands";
category THING : program "things";
THING := t:"things.tsv" -> (THING t);
SENTENCE := 'check' t:THING -> python.checked(t);
""",
        "functions.py": "def checked(thing):\n    return None\n",
        "things.tsv": "words\tprogram\nbooks\tBOOKS\nshoes\tSHOES\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    inputs = load_inputs("sexpr", (), (tmp_path,), skip_broken=False)
    with pytest.raises(GenieError, match="U200"):
        type(generator())(engine_of(inputs), inputs="").random([{}], seed=0)


# ---------------------------------------------------------------------------------- the seed


@pytest.mark.parametrize("name", ["tiny", "sexpr"])
def test_the_same_seed_gives_the_same_candidates_in_another_engine(name):
    inputs = {"tiny": tiny, "sexpr": sexpr}[name]()
    records = [{}, {"length": "4-6"}, {"form": "command"}] * 4
    other = type(generator(name))(engine_of(inputs), inputs=inputs.fingerprint())
    other.random([{}] * 7, seed=99)  # what was drawn before changes nothing
    here = generator(name).random(records, seed=3)
    assert other.random(records, seed=3) == here
    assert other.vary(here, 0.6, seed=4) == generator(name).vary(here, 0.6, seed=4)
    assert generator(name).random(records, seed=5) != here


def test_candidates_survive_json_and_another_engine_but_not_another_grammar():
    here = generator("tiny")
    parents = here.random([{"skill": "@com.example.mail"}] * 10, seed=2)
    records = [json.loads(json.dumps(asdict(candidate))) for candidate in parents]
    copies = [
        VoteCandidate(candidate.example, record["metadata"], record["state"])
        for candidate, record in zip(parents, records, strict=True)
    ]
    other = type(here)(engine_of(tiny()), inputs=tiny().fingerprint())
    assert other.vary(copies, 0.5, seed=1) == here.vary(parents, 0.5, seed=1)
    row = Example("", "get my emails", "now => @com.example.mail.inbox => notify")
    for state in ("", "[]", '"get#0"', '["nothing#0"]', '["get#0","my cats#0"]', '["get#0"]'):
        with pytest.raises(GenieError, match="Y061"):
            here.vary([VoteCandidate(row, {}, state)], 0.5, seed=0)


def test_fingerprints_differ_by_inputs_options_and_schema():
    schema = Schema((Column("form", ("question", "command")),))
    made = type(generator())
    found = [
        generator("tiny"),
        generator("tiny", schema),
        made(engine("tiny"), inputs="others"),
        made(engine_of(tiny(), max_depth=3), inputs=tiny().fingerprint()),
    ]
    assert len({one.fingerprint() for one in found}) == 4
    assert generator("tiny").fingerprint() == found[0].fingerprint()


# ---------------------------------------------------------------------------------- metadata


@LAWS
@given(
    function=st.sampled_from([INBOX, SEND, STATE, POWER, BOOKS, SITES]),
    functions=st.sampled_from([INBOX, POWER, f"{STATE} {POWER}", f"{INBOX} {SEND}"]),
    seed=SEEDS,
)
def test_a_program_has_the_functions_that_are_asked_for_and_no_others(function, functions, seed):
    for candidate in generator("tiny").random([{"function": function}] * 5, seed=seed):
        assert candidate.example.functions[0] == function
        assert candidate.metadata == {"function": function}
    wanted = sorted(functions.split())
    for candidate in generator("tiny").random([{"functions": " ".join(wanted)}] * 5, seed=seed):
        assert functions_of(candidate) == wanted


@LAWS
@given(
    record=st.fixed_dictionaries(
        {},
        optional={
            "skill": st.sampled_from(["@com.example.mail", "@com.example.lights"]),
            "form": st.sampled_from(FIXED["form"]),
            "length": st.sampled_from(["4-6", "7-9", "10-12"]),
        },
    ),
    seed=SEEDS,
)
def test_every_column_is_as_asked_or_counted(record, seed):
    made = generator("tiny")
    (candidate,) = made.random([record], seed=seed)
    for name, value in record.items():
        found = EXTRACTORS[name](candidate.example)
        found = bucket_of(found, FIXED["length"]) if name == "length" else found
        assert (found == value) == (made.counts[f"unmet {name}"] == 0)
    assert made.counts["unmet skill"] == 0


def test_what_can_be_had_is_had():
    records = [
        {"function": INBOX, "filters": "1", "length": "7-9", "form": "command"},
        {"skill": "@com.example.mail", "form": "question"},
        {"slots": "EMAIL_ADDRESS QUOTED_STRING", "functions": f"{INBOX} {SEND}"},
        {"filters": "2"},
        {"intent": "refund", "function": BOOKS},  # no grammar knows an intent
    ] * 3
    made = generator("tiny")
    found = made.random(records, seed=0)
    assert {c.example.functions[0] for c in found[4::5]} == {BOOKS}
    assert not made.counts
    names = [INBOX, SEND, STATE, POWER, BOOKS, SITES]
    found = made.random([{"function": name} for name in names * 3], seed=6)
    assert {name for c in found for name in c.example.functions} == set(names)


def test_functions_that_do_not_go_together_come_alone_and_of_an_unknown_one_its_skill():
    made = generator("tiny")
    found = made.random([{"functions": f"{POWER} {SEND}"}] * 10, seed=0)  # two actions
    assert {tuple(functions_of(c)) for c in found} == {(POWER,), (SEND,)}
    assert made.counts["unmet functions"] == 10
    found = made.random([{"function": "@com.example.mail.outbox"}] * 10, seed=0)
    assert {c.example.functions[0].rpartition(".")[0] for c in found} == {"@com.example.mail"}
    assert made.counts["unmet function"] == 10


def test_other_values_are_those_that_the_schema_does_not_name():
    schema = Schema((Column("about", (INBOX, BOOKS, OTHER), "function"),))
    made = generator("tiny", schema)
    records = [{"about": INBOX}] * 5 + [{"about": OTHER}] * 5
    found = [c.example.functions[0] for c in made.random(records, seed=1)]
    assert set(found[:5]) == {INBOX}
    assert not set(found[5:]) & {INBOX, BOOKS}
    assert not made.counts


def test_excluded_functions_never_come():
    without = engine_of(tiny(), exclude=("@com.example.lights.*",))
    made = type(generator())(without, inputs="")
    parents = made.random([{}] * 60 + [{"function": POWER}] * 5, seed=0)
    for candidate in (*parents, *made.vary(parents, 1.0, seed=0)):
        assert not {STATE, POWER} & set(candidate.example.functions)


# -------------------------------------------------------------------------------- variations


@LAWS
@given(seed=SEEDS, strength=STRENGTHS)
def test_a_variation_differs_or_is_counted(seed, strength):
    made = generator("tiny")
    parents = made.random([{}] * 12, seed=seed)
    found = made.vary(parents, strength, seed=seed)
    same = sum(
        a.example.utterance == b.example.utterance for a, b in zip(parents, found, strict=True)
    )
    assert same == made.counts["unvaried"]


@pytest.mark.slow
def test_a_stronger_variation_keeps_fewer_words():
    made = generator("few")
    parents = made.random([{}] * 150, seed=0)

    def kept(strength):
        pairs = zip(parents, made.vary(parents, strength, seed=1), strict=True)
        words = [(set(a.example.utterance.split()), b.example.utterance.split()) for a, b in pairs]
        return sum(len(a & set(b)) / len(a) for a, b in words) / len(words)

    shares = [kept(strength) for strength in (0.0, 0.5, 1.0)]
    assert shares[0] > shares[1] + 0.05 > shares[2] + 0.1


@pytest.mark.slow
def test_a_winner_is_varied_in_different_ways():
    made = generator("few")
    (winner,) = made.random([{"length": "10-12"}], seed=3)
    found = [c.example.utterance for c in made.vary([winner] * 10, 0.3, seed=1)]
    assert len({winner.example.utterance, *found}) == 11


# ------------------------------------------------------------------------------- kept leaves


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv(parsed.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(parsed, "_SMALLEST", 0)
    return notes(tmp_path)


def candidates_of(project):
    """Return candidates and variations of a generator that is made anew."""
    folder = project.folder
    made = GeneratorBuilder(
        EvolutionRecipe(),
        language=get_language("thingtalk"),
        library=load_library("thingtalk", (folder / "thingpedia",)),
        grammar=(folder / "grammars/en",),
        schema=None,
        work=folder,
    ).build()
    first = made.random([{}] * 40, seed=1)
    varied = [made.vary(first, strength, seed=2) for strength in (0.0, 0.5, 1.0)]
    return first, varied, made.fingerprint(), dict(made.counts)


def test_candidates_are_the_same_with_and_without_kept_leaves(project, monkeypatch):
    fresh, again = candidates_of(project), candidates_of(project)
    monkeypatch.setenv(parsed.VARIABLE, "")
    assert fresh == again == candidates_of(project)
    assert len({one.example.utterance for one in fresh[0]}) > 20


@pytest.mark.parametrize("first", ["evolve", "synthesize"])
def test_leaves_of_evolution_and_of_synthesis_are_made_once(project, monkeypatch, first):
    if first == "synthesize":
        assert project.run("--size", 50, "--output", project.folder / "rows.jsonl") == 0
    else:
        candidates_of(project)
    for module in (lexicon, synthesis):
        monkeypatch.setattr(module, "make_leaves", None)  # whoever calls it fails
    assert len(candidates_of(project)[0]) == 40
