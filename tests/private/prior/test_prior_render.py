"""DP programs in the words of the templates: every sentence means its program again."""

import json
from collections import Counter
from functools import cache

import pytest

from genie_dp import cli
from genie_dp.private.prior.render import Renderer, UnsaidProgram, number_rows
from genie_dp.private_prior import save_prior
from genie_dp.records import Example
from genie_dp.rows import from_json, to_json
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.describe import Describer
from genie_dp.synthesis.explain import Explainer
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.grammar import subset
from tests.private.prior.prior_setup import HOME, LACKED, TWITTER, prior
from tests.synthesis.synthesis_project import errands
from tests.synthesis.synthesis_setup import engine, few, text_of

FREE = 'now => @com.twitter.post param:status:String = " my secret words "'


@cache
def twitter():
    return load_inputs("thingtalk", (TWITTER,), ())


@cache
def renderer(skills=twitter):
    inputs = skills()
    config = SynthesisConfig(on_error="skip")
    grammar = subset(inputs.grammar, config.subsets)
    compiled = compile_grammar(grammar, inputs.language, inputs.library, config)
    return Renderer(Describer(compiled, inputs.library), Explainer(compiled), 4)


@cache
def synthesized():
    return tuple(from_json(line) for line in text_of(engine(size=400, max_depth=4)).splitlines())


def said(programs, skills=twitter):
    times = Counter(programs)
    found = list(map(renderer(skills).say, times))
    return list(number_rows(times, lambda: found, renderer(skills).sentences))


@pytest.mark.slow
def test_every_sentence_is_read_back_as_its_program_alone():
    programs = [row.program for row in synthesized()[::32]]
    rows = said(programs, few)
    unsaid = [one for one in rows if isinstance(one, UnsaidProgram)]
    assert len(unsaid) <= len(programs) // 10
    sentences = [one for one in rows if isinstance(one, Example)]
    assert len(sentences) > 2.5 * len(programs)
    for row in sentences:
        assert renderer(few).explainer.explain(row.utterance).programs == (row.program,)


@pytest.mark.slow
def test_rows_say_of_themselves_what_synthesized_rows_of_their_programs_do():
    known = {row.program: row for row in synthesized()[:25]}
    rows = [one for one in said(list(known), few) if isinstance(one, Example)]
    assert len(rows) > 50
    for row in rows:
        like = list(known.values())[int(row.id[1:].partition("-")[0])]
        assert Counter(row.slots.values()) == Counter(like.slots.values())
        assert Counter(row.functions) == Counter(like.functions)
        assert set(row.slots) == {word for word in row.utterance.split() if word[0].isupper()}
        assert row.derivation
        assert (row.source, row.language) == ("private", like.language)


def test_sentences_of_a_program_differ_and_the_most_natural_comes_first():
    rows = said([HOME])
    assert len(rows) == 4
    assert len({row.utterance for row in rows}) == 4
    assert rows[0].utterance == renderer().describer.describe(HOME).utterance
    assert [row.id for row in rows] == ["V0-0", "V0-1", "V0-2", "V0-3"]


def test_values_become_placeholders_for_new_ones():
    rows = said([FREE])
    assert rows
    for row in rows:
        assert "secret" not in to_json(row)
        assert "QUOTED_STRING_0" in row.utterance.split()
        assert row.slots["QUOTED_STRING_0"].parameter == "@com.twitter.post:status"


def test_a_program_weighs_as_often_as_it_was_drawn_however_few_sentences_it_has():
    times = {"often": 3, "seldom": 1}
    said = [
        tuple(Example("", f"{program} {k}", program) for k in range(count))
        for program, count in (("often", 1), ("seldom", 4))
    ]
    weights = Counter()
    for row in number_rows(times, lambda: said, 4):
        weights[row.program] += row.weight
    assert weights == {"often": 6.0, "seldom": 2.0}


def test_programs_that_differ_in_values_alone_weigh_as_often_as_all_were_drawn():
    others = [FREE.replace("secret", other) for other in ("own", "last")]
    rows = said([FREE, *others, *others, HOME])
    assert len({row.utterance for row in rows}) == len(rows)
    weights = Counter()
    for row in rows:
        weights[row.program.split()[2]] += row.weight
    post, home = (weights[f"@com.twitter.{name}"] for name in ("post", "home_timeline"))
    assert post == pytest.approx(5 * home, rel=1e-3)
    assert post + home == pytest.approx(2 * renderer().sentences, rel=1e-3)


@pytest.mark.parametrize("program", [LACKED, "now => now", "( what is this"])
def test_what_no_template_can_say_is_told_with_the_reason(program):
    (found,) = said([program, program])
    assert isinstance(found, UnsaidProgram)
    assert found.times == 2
    assert found.reason


BOTH, ONE = "( BRING ( BOTH ( THING W1 ) ( THING W2 ) ) )", "( HIDE ( THING W3 ) )"
UNSAID = "( FLY W3 )"


@pytest.fixture
def words(tmp_path):
    """Return a command that renders a prior of three programs, one of which no template says."""
    save_prior(prior(programs=(BOTH, UNSAID, BOTH, ONE)), tmp_path / "prior.json")
    skills = errands(tmp_path).inputs
    return ["private", "render", str(tmp_path / "prior.json"), *skills, "--sentences", "3"]


def test_the_command_writes_rows_and_what_is_unsaid(words, tmp_path, capsys):
    for name, jobs in (("a", "1"), ("b", "2")):
        options = ["-o", str(tmp_path / f"{name}.jsonl"), "--unsaid", str(tmp_path / "unsaid.tsv")]
        assert cli.run([*words, *options, "--jobs", jobs]) == 0
    text = (tmp_path / "a.jsonl").read_text()
    assert (tmp_path / "b.jsonl").read_text() == text
    rows = [from_json(line) for line in text.splitlines()]
    assert len(rows) == 2
    assert (tmp_path / "unsaid.tsv").read_text().startswith(f"1\t{UNSAID}\t")
    told = json.loads((tmp_path / "a.jsonl.manifest.json").read_text())
    assert told["spent"]["epsilon"] == 1.0
    assert told["counts"] == {"programs": 3, "unsaid": 1, "rows": 2}
    assert "2 sentences for 2 of 3 programs" in capsys.readouterr().err
    assert cli.run([*words, "-o", str(tmp_path / "a.jsonl")]) == 1
    assert "Y022" in capsys.readouterr().err


class Stopped:
    """Renderers say so many programs, and then somebody presses Ctrl-C."""

    def __init__(self, count):
        self.said, self.count = Renderer.say, count

    def say(self, renderer, program):
        self.count -= 1
        if self.count < 0:
            raise KeyboardInterrupt
        return self.said(renderer, program)


def test_an_interrupted_rendering_goes_on_where_it_was(words, tmp_path, monkeypatch, capsys):
    assert cli.run([*words, "-o", str(tmp_path / "whole.jsonl")]) == 0
    there = [*words, "-o", str(tmp_path / "a.jsonl"), "--unsaid", str(tmp_path / "unsaid.tsv")]
    stopped = Stopped(2)
    with monkeypatch.context() as patch:
        patch.setattr(Renderer, "say", lambda *args: stopped.say(*args))
        assert cli.run(there) == 130
    assert "--resume" in capsys.readouterr().err
    kept = tmp_path / ".a.jsonl.work" / "said.jsonl"
    assert len(kept.read_text().splitlines()) == 2
    kept.write_text(kept.read_text() + '["torn')  # as a killed process leaves it
    assert cli.run(there) == 1
    assert "Y021" in capsys.readouterr().err
    assert cli.run([*there, "--resume", "--max-depth", "7"]) == 1
    assert "Y020" in capsys.readouterr().err
    stopped = Stopped(1)
    with monkeypatch.context() as patch:
        patch.setattr(Renderer, "say", lambda *args: stopped.say(*args))
        assert cli.run([*there, "--resume"]) == 0
    assert stopped.count == 0  # the last program alone was said
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()
    one, other = (tmp_path / f"{name}.jsonl.manifest.json" for name in ("a", "whole"))
    assert one.read_text() == other.read_text()
    assert (tmp_path / "unsaid.tsv").read_text().startswith(f"1\t{UNSAID}\t")
    assert not kept.parent.exists()


def test_a_rendering_to_the_screen_is_not_resumed(words, tmp_path, capsys):
    assert cli.run([*words, "--resume"]) == 1
    assert "Y024" in capsys.readouterr().err
    assert cli.run([*words, "--resume", "--overwrite", "-o", str(tmp_path / "a.jsonl")]) == 2


def test_rows_of_a_generator_are_rendered_with_their_guarantee(words, tmp_path, capsys):
    row = Example("P0", "two", BOTH, "sexpr", "private")
    (tmp_path / "rows.jsonl").write_text(f"{to_json(row)}\n")
    spent = {"epsilon": 8, "delta": 1e-6, "unit": "user", "relation": "add-or-remove-one",
             "accountant": "rdp", "not_covered": []}  # fmt: skip
    (tmp_path / "spent.json").write_text(json.dumps(spent))
    words[2] = str(tmp_path / "rows.jsonl")
    assert cli.run(words) == 1
    assert "F001" in capsys.readouterr().err
    assert cli.run([*words, "--spent", str(tmp_path / "spent.json")]) == 0
    assert all(from_json(x).program == BOTH for x in capsys.readouterr().out.splitlines())


def test_a_prior_without_programs_has_nothing_to_render(words, tmp_path, capsys):
    save_prior(prior(), tmp_path / "prior.json")
    assert cli.run(words) == 1
    assert "F007" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["prior.json", "a"])
def test_a_rendering_is_not_written_over_what_is_read(output, words, tmp_path, capsys):
    before = (tmp_path / "prior.json").read_bytes()
    unsaid = tmp_path / ("prior.json" if output == "a" else "b")
    places = ["-o", str(tmp_path / output), "--unsaid", str(unsaid), "--overwrite"]
    assert cli.run([*words, *places]) == 1
    assert "D027" in capsys.readouterr().err
    assert (tmp_path / "prior.json").read_bytes() == before
    assert not (tmp_path / "a").exists()
