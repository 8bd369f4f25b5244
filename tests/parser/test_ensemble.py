import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("phonenumbers")

from genie_dp.cli import run  # noqa: E402
from genie_dp.errors import GenieError  # noqa: E402
from genie_dp.languages.scope import OUT_OF_SCOPE  # noqa: E402
from genie_dp.models.search import search  # noqa: E402
from genie_dp.models.seq2seq import SteppedTorch, build  # noqa: E402
from genie_dp.parser import scoring  # noqa: E402
from genie_dp.parser.parser import Parser  # noqa: E402
from tests.dataset.dataset_rows import row, write  # noqa: E402
from tests.models.models_setup import VOCABULARY, batch, network, save_tiny_base  # noqa: E402
from tests.parser.parser_setup import HOME, LIGHT, MAIL, rows, train, write_rows  # noqa: E402


def together(models):
    """Return an ensemble with the weights of recurrent networks of size 16."""
    members = [{"architecture": "rnn", "settings": {"size": 16}}] * len(models)
    made, _ = build("ensemble", VOCABULARY, {"members": members})
    for own, model in zip(made.members, models, strict=True):
        own.load_state_dict(model.state_dict())
    return made.eval()


@pytest.fixture(scope="module")
def models():
    return [network("rnn", seed=seed, size=16) for seed in (1, 2, 3)]


def test_an_ensemble_says_the_mean_of_what_its_members_say(models):
    rows_ = batch()
    with torch.no_grad():
        found = together(models).score(rows_).exp()
        expected = torch.stack([model.score(rows_).exp() for model in models]).mean(0)
    torch.testing.assert_close(found, expected)


def test_the_order_of_members_is_of_no_account(models):
    with torch.no_grad():
        one, other = (together(order).score(batch()) for order in (models, models[::-1]))
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("beam", [1, 4])
def test_equal_networks_together_find_what_one_finds(models, beam):
    from genie_dp.models.search import SearchSettings

    sentences = [tuple(words) for words in (("tea",), ("some", "tea", "please"))]
    settings = SearchSettings(beam=beam, longest=12)
    alone, both = (
        search(SteppedTorch(model), sentences, VOCABULARY, settings=settings)
        for model in (models[0], together([models[0]] * 2))
    )
    assert [[h.tokens for h in found] for found in alone] == [
        [h.tokens for h in found] for found in both
    ]
    for one, other in zip(alone, both, strict=True):
        assert [h.log_probability for h in one] == pytest.approx(
            [h.log_probability for h in other], abs=1e-4
        )


def test_an_ensemble_of_nobody_is_refused():
    with pytest.raises(GenieError, match="members"):
        build("ensemble", VOCABULARY, {"members": []})


# ------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def parsers(tmp_path_factory):
    """Return two parsers of the same rows, of different seeds."""
    found = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp(f"seed{seed}")
        found.append(train(folder, "--seed", seed, steps=120))
    return found


@pytest.fixture(scope="module")
def validation(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("validation"))


def ensemble(*words, code=0):
    assert run(["ensemble", *map(str, words)]) == code


def test_parsers_of_the_same_rows_become_one(parsers, validation, tmp_path, capsys):
    target = tmp_path / "both"
    ensemble(*parsers, "--output", target, "--validation", validation)
    assert "2 parsers, " in capsys.readouterr().err
    manifest = json.loads((target / "manifest.json").read_text())
    accuracy = manifest["figures"]["validation accuracy"]
    assert manifest["figures"]["validation rows"] == len(rows())
    assert [one["config"]["seed"] for one in manifest["parsers"]] == [1, 2]
    result = tmp_path / "result.json"
    skills = ["--skills", str(MAIL), "--skills", str(HOME)]
    asked = ["evaluate", str(validation), "--parser", str(target), *skills, "-o", str(result)]
    assert run(asked) == 0
    assert json.loads(result.read_text())["accuracy"]["share"] == pytest.approx(accuracy, abs=1e-4)
    assert not (tmp_path / ".both.work").exists()


def test_sentences_with_a_constant_of_a_template_are_measured_as_their_parsers_were(
    tmp_path, monkeypatch
):
    night = f"now => {LIGHT} param:at:Time = time:22:00:00 param:power:Enum(on,off) = enum:off"
    made = [*rows(), *(row(f"N{n}", f"good night {n}", night) for n in "abcdefgh")]
    parser = train(tmp_path, inputs=[write_rows(tmp_path, made)], steps=1)
    real = write(
        tmp_path / "real.jsonl", [row("R0", "good night everybody", night, source="human")]
    )
    seen = []
    monkeypatch.setattr("genie_dp.parser.ensemble.score", spied(seen))
    ensemble(parser, parser, "--output", tmp_path / "both", "--validation", real)
    assert [one.program for one in seen if one.program != OUT_OF_SCOPE] == [night]


def spied(seen):
    """Return `score`, which keeps the rows as well."""

    def score(decoder, checked, evidence):
        seen.extend(checked)
        return scoring.score(decoder, checked, evidence)

    return score


def test_an_ensemble_answers_after_its_parsers_are_gone(parsers, tmp_path):
    import shutil

    copies = [shutil.copytree(one, tmp_path / one.parent.name) for one in parsers]
    ensemble(*copies, "--output", tmp_path / "both")
    for copy in copies:
        shutil.rmtree(copy)
    reply = Parser.from_pretrained(tmp_path / "both", threshold=0.0).parse(["show mail about tea"])
    assert reply[0].answers


def test_the_card_names_the_parsers_and_says_when_nothing_was_measured(parsers, tmp_path):
    ensemble(*parsers, "--output", tmp_path / "both", "--licence", "MIT")
    text = (tmp_path / "both" / "README.md").read_text()
    assert "seed: 1, 2" in text
    assert "recipe-2.yaml" in text
    assert "MIT" in text
    assert "measured on: nothing" in text
    assert (tmp_path / "both" / "recipe-2.yaml").is_file()


def test_parsers_of_other_rows_are_refused_with_what_differs(parsers, tmp_path, capsys):
    made = [*rows(), row("S99", "show mail now", rows()[0].program)]
    other = train(tmp_path, inputs=[write(tmp_path / "more.jsonl", made)], steps=2)
    ensemble(parsers[0], other, "--output", tmp_path / "both", code=1)
    said = capsys.readouterr().err
    assert "N070" in said
    assert "rows" in said
    assert "vocabulary" in said
    assert not (tmp_path / "both").exists()


def test_one_parser_alone_is_refused(parsers, tmp_path, capsys):
    ensemble(parsers[0], "--output", tmp_path / "both", code=1)
    assert "N072" in capsys.readouterr().err


def test_networks_of_hugging_face_are_refused(parsers, tmp_path, capsys):
    base = save_tiny_base(tmp_path / "base", "t5")
    other = train(tmp_path, "--model", base, steps=1, recipe="batch: 4\nvalidations: 1\n")
    ensemble(parsers[0], other, "--output", tmp_path / "both", code=1)
    assert "N071" in capsys.readouterr().err


def test_parsers_without_declarations_become_one(tmp_path):
    made = [
        row(f"S{n}", f"buy some {word}", f"( ORDER {word} )", language="sexpr")
        for n, word in enumerate(("tea", "oil", "rice", "milk"))
    ]
    for seed in ("1", "2"):
        words = ["train", write(tmp_path / "rows.jsonl", made), "--steps", 2, "--seed", seed]
        assert run([str(word) for word in (*words, "--output", tmp_path / seed)]) == 0
    ensemble(tmp_path / "1", tmp_path / "2", "--output", tmp_path / "both")
    assert Parser.from_pretrained(tmp_path / "both").parse(["buy some tea"])


def test_an_ensemble_is_no_member_of_another(parsers, tmp_path, capsys):
    ensemble(*parsers, "--output", tmp_path / "both")
    ensemble(parsers[0], tmp_path / "both", "--output", tmp_path / "all", code=1)
    said = capsys.readouterr().err
    assert "N071" in said
    assert "the parsers that it was made of" in said


def test_a_folder_that_is_no_parser_is_neither_read_nor_replaced(parsers, tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    ensemble(parsers[0], tmp_path / "notes", "--output", tmp_path / "both", code=1)
    assert "N010" in capsys.readouterr().err
    ensemble(*parsers, "--output", tmp_path / "notes", code=1)
    assert "Y022" in capsys.readouterr().err
    ensemble(*parsers, "--output", tmp_path / "notes", "--overwrite", code=1)
    assert "N007" in capsys.readouterr().err


def test_an_ensemble_is_replaced_when_asked(parsers, tmp_path):
    for more in ((), ("--overwrite",)):
        ensemble(*parsers, "--output", tmp_path / "both", *more)
    assert len(list((tmp_path / "both").glob("recipe-*.yaml"))) == 2
