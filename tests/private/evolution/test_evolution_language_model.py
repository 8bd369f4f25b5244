"""Candidates of Hugging Face models: tiny ones with random weights, made here."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from genie_dp.errors import GenieError
from genie_dp.private.evolution.config import LanguageModelRecipe
from genie_dp.private.evolution.generator import Pool, VoteCandidate
from genie_dp.private.evolution.language_model import load_language_model
from genie_dp.private.evolution.prompting import (
    Prompt,
    PromptedGenerator,
    Prompter,
    shipped_templates,
)
from genie_dp.records import Example
from tests.private.evolution.evolution_models import DONATED, RECORDS, WORDS, save_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("gpt2"))


def model(folder, **settings):
    return load_language_model(
        LanguageModelRecipe(folder, **{"longest": 6, "batch": 3, "shots": 2, **settings})
    )


def generator(folder, donated=DONATED, **settings):
    loaded = model(folder, **settings)
    templates, recipe = shipped_templates(loaded.style), loaded.recipe
    prompter = Prompter(templates, loaded.style, Pool(donated), recipe=recipe)
    return PromptedGenerator(loaded, prompter, recipe)


def texts(candidates):
    return [candidate.example.utterance for candidate in candidates]


def test_each_record_gets_a_candidate_by_the_seed_alone(folder):
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    made = generator(folder).random(RECORDS, seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [candidate.metadata for candidate in made] == RECORDS
    first = texts(made)
    assert all(first)
    assert len(set(first)) > 4
    assert {word for text in first for word in text.split()} <= {word.lower() for word in WORDS}
    torch.manual_seed(4)
    assert texts(generator(folder).random(RECORDS, seed=1)) == first
    assert texts(generator(folder).random(RECORDS, seed=2)) != first


def test_an_answer_depends_on_its_prompt_and_name_alone(folder):
    prompts = [Prompt("Known : intent " + "wake " * n + "Said :") for n in range(7)]
    names = [f"draw {n}" for n in range(7)]
    together = model(folder, batch=7).complete(prompts, names)
    assert model(folder, batch=2).complete(prompts[::-1], names[::-1]) == together[::-1]


def test_an_answer_ends_with_its_line(folder):
    loaded = model(folder, longest=20, batch=100)
    answers = loaded.complete([Prompt("Said :")] * 100, [f"{n}" for n in range(100)])
    assert any("\n" in answer for answer in answers)
    assert not [answer for answer in answers if answer.partition("\n")[2].strip()]


def test_draws_follow_the_distribution_of_the_model(folder):
    loaded = model(folder, longest=1, batch=500, top_p=1.0, style="chat")
    loaded.style = "complete"
    ids, seen = loaded._encode_prompts(["wake me"])
    with torch.inference_mode():
        logits = loaded.loaded.model(input_ids=ids, attention_mask=seen).logits[0, -1].clone()
    end = torch.isin(torch.arange(len(WORDS)), torch.tensor([1, 3]))
    wanted = logits.masked_fill(end, -torch.inf).softmax(0)  # an answer has at least one token
    drawn = loaded.complete([Prompt("wake me")] * 4000, [f"{n}" for n in range(4000)])
    shares = torch.tensor([drawn.count(word) / 4000 for word in WORDS])
    special = [0, 1, 2, 3]  # written as nothing, or never drawn
    shares[special] = wanted[special]
    # Of 4000 draws a share of 1/32 has a deviation of 0.003.
    assert (shares - wanted).abs().max() < 0.015


@pytest.mark.parametrize("variation", ["continue", "fill", "rephrase"])
def test_a_variation_keeps_metadata_and_is_reproducible(folder, variation):
    made = generator(folder, variation=variation)
    parents = made.random(RECORDS, seed=1)
    varied = made.vary(parents, 0.5, seed=2)
    assert [one.metadata for one in varied] == RECORDS
    assert texts(varied) == texts(made.vary(parents, 0.5, seed=2))
    assert texts(varied) != texts(parents)


def test_to_continue_keeps_the_first_words_and_strength_0_all(folder):
    made = generator(folder)
    parents = [VoteCandidate(Example("", "pay my bill now please and wake me", ""))] * 5
    assert made.vary(parents, 0.0, seed=1) == parents
    assert made.tally.prompts == 0
    for text in texts(made.vary(parents, 0.5, seed=1)):
        assert text.startswith("pay my bill now")


def test_prompts_longer_than_the_model_lose_their_beginning(folder):
    loaded = model(folder, longest=8)
    long = Prompt("wake " * 500 + "pay my bill")
    ids, _ = loaded._encode_prompts([long.text])
    assert ids.shape[1] == 120
    assert loaded.cut == 1
    assert [WORDS[i] for i in ids[0, -3:]] == ["pay", "my", "bill"]
    assert loaded.complete([long], ["a"])[0]


def test_a_tokenizer_that_knows_turns_makes_a_chat(tmp_path):
    turn = "{{ m.role }} : {{ m.content }} {% endfor %}Said :"
    refusal = "{% if m.role == 'system' %}{{ raise_exception('not supported') }}{% endif %}"
    for name, begun, text in (
        ("chat", "", "system : now user : wake me Said :"),
        # Without a system role its text stands before the question.
        ("plain", refusal, "user : now\n\nwake me Said :"),
    ):
        (tmp_path / name).mkdir()
        template = "{% for m in messages %}" + begun + turn
        folder = save_model(tmp_path / name, chat_template=template)
        loaded = model(folder)
        assert loaded.style == "chat"
        assert loaded._text(Prompt("wake me", system="now")) == text
        assert texts(generator(folder, variation="fill").random(RECORDS, seed=1))


def test_an_answer_of_a_chat_is_opened_and_ends_with_its_line(tmp_path, monkeypatch):
    template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    loaded = model(save_model(tmp_path, chat_template=template))
    seen, whole = [], type(loaded)._encode_prompts
    monkeypatch.setattr(
        type(loaded), "_encode_prompts", lambda self, rows: seen.extend(rows) or whole(self, rows)
    )
    prompts = [Prompt("wake me", opening='"'), Prompt("pay", opening='"')] * 10
    answers = loaded.complete(prompts, [str(n) for n in range(20)])
    assert {text[-1] for text in seen} == {'"'}
    assert {answer[0] for answer in answers} == {'"'}
    assert not any("\n" in answer.strip() for answer in answers)
    # Nothing is opened that the model does not write.
    seen.clear()
    loaded.style = "complete"
    assert loaded.complete(prompts[:1], ["a"])[0][:1] != '"'
    assert seen == ["wake me"]


def test_the_fingerprint_is_of_weights_and_settings(folder, tmp_path):
    for name in ("same", "other"):
        (tmp_path / name).mkdir()
    same, other = save_model(tmp_path / "same"), save_model(tmp_path / "other", seed=1)
    first = generator(folder).fingerprint()
    assert generator(same).fingerprint() == first
    assert generator(other).fingerprint() != first
    assert generator(folder, temperature=0.5).fingerprint() != first
    assert generator(folder, variation="fill").fingerprint() != first


def test_a_model_that_says_no_sentence_keeps_the_parents_and_counts_them(folder):
    silent = generator(folder, donated=(), most_words=0, tries=2)
    parents = [VoteCandidate(Example("", "pay my bill", ""), {"intent": "pay"})] * 3
    assert silent.vary(parents, 0.5, seed=1) == parents
    assert silent.tally.unvaried == 3
    assert silent.tally.prompts == silent.tally.unusable == 6
    with pytest.raises(GenieError, match="U505"):
        silent.random(RECORDS, seed=1)
    with pytest.raises(GenieError, match="P131"):
        model(f"{folder}/nothing")
