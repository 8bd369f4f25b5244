"""Sampling: the model's own distribution at width 1, well-typed programs, the same rows again."""

import math
from collections import Counter
from itertools import product

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from genie_dp.languages import get_language
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder
from genie_dp.private.generators.rows import check_program
from genie_dp.private.generators.sample import Sample
from genie_dp.private.generators.sampling import GrammarSpelling, draw, is_plain, restrict_scores
from genie_dp.private.generators.tokenizer import PretrainedTokenizer, build_tokenizer, decode
from tests.languages.sexpr.test_decoding_sexpr import CAKES, DECLARED, SPANS, WHOLE
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.private.generators.generator_models import Bigrams, Letters, gpt2, hugging_face, own

LETTERS = Letters()
# Logits of the next token after BEGIN, SEPARATOR, END, a, b; those of no text are never drawn.
TABLE = Bigrams(
    torch.tensor(
        [[9, 9, 0.2, 1.0, 0.5], [0] * 5, [0] * 5, [9, 9, 0.7, -0.3, 1.1], [9, 9, 1.0, 0.4, -1.0]]
    )
)


def drawn(count, seed=0, prompts=None, model=TABLE, **settings):
    generator = torch.Generator().manual_seed(seed)
    prompts = [[0]] * count if prompts is None else prompts
    return draw(model, prompts, LETTERS, SamplingSettings(**settings), generator=generator)


def enumerated(longest, scores=lambda logits: logits):
    """Return the probability of each sequence of at most `longest` ids, the end included."""
    text = TABLE.table.clone()
    text[:, :2] = -torch.inf
    following = scores(text).double().softmax(1)
    found = {}
    for length in range(longest):
        for ids in product((3, 4), repeat=length):
            places = zip((0, *ids), (*ids, 2), strict=True)
            found[ids] = math.prod(float(following[a, b]) for a, b in places)
    return found


@pytest.mark.statistical
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_width_1_draws_from_the_models_distribution(temperature):
    longest, count = 12, 20_000
    found = drawn(count, longest=longest, temperature=temperature)
    expected = enumerated(longest, lambda logits: logits / temperature)
    seen = Counter(each.ids for each in found if each.ended)
    frequencies = {ids: n / count for ids, n in seen.items()}
    short = {ids for ids in expected if len(ids) <= 4}
    # Of 31 sequences: the expected total variation of 20,000 draws is below 0.02.
    assert sum(abs(expected[ids] - frequencies.get(ids, 0)) for ids in short) / 2 < 0.02
    for each in found[:200]:
        if each.ended:
            assert math.isclose(each.log_probability, math.log(expected[each.ids]), abs_tol=1e-5)


def test_whatever_a_model_draws_without_a_grammar_is_words(tmp_path):
    model = hugging_face(tmp_path, gpt2)
    tokenizer = PretrainedTokenizer(str(tmp_path))
    settings = SamplingSettings(longest=16)
    found = draw(
        model, [[tokenizer.begin]] * 300, tokenizer, settings,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    blank = [i for i, piece in enumerate(tokenizer.pieces) if piece and not piece.text]
    assert any(index in blank for each in found for index in each.ids)
    for each in found:
        assert not (each.ended and each.ids[-1:] and each.ids[-1] in blank)
        ids = each.ids[:-1] if each.ids[-1:] and each.ids[-1] in blank else each.ids
        pieces = [tokenizer.pieces[index] for index in ids]
        text = b"".join(b" " * piece.is_first + piece.text for piece in pieces)
        # Bytes may be no characters, but nothing is white space, and no word is empty.
        assert text.split() == (text.removeprefix(b" ").split(b" ") if text else [])


@pytest.mark.parametrize("width", [1, 5])
def test_what_does_not_end_is_cut_and_without_numbers_nothing_is_drawn(width):
    found = drawn(500, longest=2, width=width)
    assert {len(each.ids) for each in found if not each.ended} <= {2}
    assert {each.ended for each in found} == ({True, False} if width == 1 else {True})
    broken = Bigrams(torch.full((5, 5), torch.nan))
    assert {(each.ids, each.ended) for each in drawn(3, model=broken, width=width)} == {((), False)}


def test_wide_beams_find_the_likeliest_sequence_per_token():
    [found] = drawn(1, width=200, longest=6)
    quality = {ids: math.log(p) / (len(ids) + 1) for ids, p in enumerated(6).items()}
    assert found.ids == max(quality, key=quality.get)
    assert len({each.ids for each in drawn(300, width=2, longest=12)}) > 1


def test_top_k_and_top_p_keep_the_likeliest():
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()
    for settings, expected in (
        (SamplingSettings(top_k=2), [0, 4 / 7, 0, 3 / 7]),
        (SamplingSettings(top_p=0.41), [0, 4 / 7, 0, 3 / 7]),
        (SamplingSettings(top_p=0.4), [0, 1, 0, 0]),
        (SamplingSettings(top_k=9, top_p=1.0), [0.1, 0.4, 0.2, 0.3]),
        (SamplingSettings(temperature=0.5), [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
    ):
        assert restrict_scores(logits, settings).exp()[0].tolist() == pytest.approx(
            expected, abs=1e-6
        )


def test_settings_of_sampling(tmp_path):
    assert {each.ids for each in drawn(20, top_k=1, longest=9)} == {(3, 4)}  # greedy
    # Programs come as often as they were learned, whatever utterances do.
    stage = Sample(
        generator=tmp_path, load_library=str, temperature=0.5, top_k=3, top_p=0.9, longest=9
    )
    settings = stage.draws
    assert settings.utterance == SamplingSettings(1, 0.5, 3, 0.9, 9)
    assert settings.program == Sample(generator=tmp_path, load_library=str).draws.program
    for wrong in ({"width": 0}, {"temperature": 0}, {"top_p": 0}, {"top_p": 1.5}, {"top_k": -1}):
        with pytest.raises(ValueError, match="expected|must be"):
            SamplingSettings(**wrong)


def test_prompts_of_different_lengths_do_not_disturb_each_other():
    model = own(len(LETTERS.pieces))
    prompts = [[0, 3, 1], [0, 4, 4, 3, 4, 1], [0, 3, 3, 1]]
    together = drawn(0, prompts=prompts, model=model, top_k=1, longest=10)
    alone = [drawn(0, prompts=[p], model=model, top_k=1, longest=10)[0] for p in prompts]
    assert [each.ids for each in together] == [each.ids for each in alone]


# ------------------------------------------------------------------------- under a grammar

THINGTALK = get_language("thingtalk")
SEXPR = get_language("sexpr")
INBOX = '( @com.example.mail.inbox ) filter param:subject:String == " lunch plans " => notify'


def thingtalk_spelling(library):
    grammar = THINGTALK.decoding_grammar(library, texts=("1", "2"))
    words = ["now", "=>", "notify", "(", ")", "filter", '"', "lunch", "plans", "and", "=="]
    tokenizer = build_tokenizer([words, words])
    placeholders = ("NUMBER_0", "QUOTED_STRING_0", "DATE_0")
    return GrammarSpelling(grammar, tokenizer, placeholders=placeholders, texts=("1", "2"))


def sexpr_spelling(texts, library):
    grammar = SEXPR.decoding_grammar(library, texts=texts)
    tokenizer = build_tokenizer([text.split() for text in texts], minimum=1)
    return GrammarSpelling(grammar, tokenizer, placeholders=("NUMBER_0",), texts=texts)


SPELLINGS = {
    "thingtalk": lambda: (THINGTALK, example_library(), thingtalk_spelling(example_library())),
    "cakes": lambda: (SEXPR, DECLARED, sexpr_spelling(CAKES, DECLARED)),
    "spans": lambda: (SEXPR, None, sexpr_spelling(SPANS, None)),
    "declared spans": lambda: (SEXPR, WHOLE, sexpr_spelling(SPANS, WHOLE)),
}


def untrained(tokenizer, seed):
    torch.manual_seed(seed)
    return PreLNDecoder(len(tokenizer.pieces), DecoderSettings(16, 1, 2, 64)).eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("width", [1, 3])
def test_an_untrained_model_writes_well_typed_programs_alone(name, width):
    language, library, spelling = SPELLINGS[name]()
    tokenizer = spelling.tokenizer
    count = 12
    found = draw(
        untrained(tokenizer, width),
        [[tokenizer.begin]] * count,
        tokenizer,
        SamplingSettings(width=width, longest=40),
        generator=torch.Generator().manual_seed(width),
        paths=[spelling.begin() for _ in range(count)],
    )
    assert all(each.ended for each in found)
    programs = [decode(each.ids, tokenizer) for each in found]
    assert len(set(programs)) > (count // 3 if width == 1 else 0)
    assert all(check_program(program, language, library) for program in programs)


def ids_of(spelling, program):
    return [index for word in program.split() for index in spelling.tokenizer.spell(word)]


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("thingtalk", f"now => {INBOX}"),
        ("thingtalk", f"now => {INBOX.replace('lunch plans', 'zanzibar')}"),
        (
            "thingtalk",
            f"now => {INBOX.replace(chr(34) + ' lunch plans ' + chr(34), 'QUOTED_STRING_0')}",
        ),
        ("cakes", CAKES[1]),
        ("cakes", CAKES[2].replace("wishes", "regards")),
        ("spans", SPANS[0].replace("milk", "zanzibar")),
        ("spans", SPANS[0].replace("milk", "5 of these")),
        ("declared spans", "[ IN:CALL [ SL:WHO 5 people ] ]"),
    ],
)
def test_programs_can_be_written_with_words_that_nobody_has_seen(name, program):
    _, _, spelling = SPELLINGS[name]()
    prefix = spelling.begin()
    for index in ids_of(spelling, program):
        prefix = prefix.then(index)
    mask = torch.zeros(spelling.size, dtype=torch.bool).numpy()
    prefix.mark(mask)
    assert mask[spelling.tokenizer.end]


def test_what_is_marked_is_what_may_follow():
    spelling = thingtalk_spelling(example_library())
    prefix = spelling.begin()
    for index in ids_of(spelling, f"now => {INBOX}")[:30]:
        mask = torch.zeros(spelling.size, dtype=torch.bool).numpy()
        prefix.mark(mask)
        for other in range(4, spelling.size, 7):
            try:
                prefix.then(other)
                is_allowed = True
            except ValueError:
                is_allowed = False
            assert is_allowed == mask[other]
        assert mask[index]
        prefix = prefix.then(index)


@pytest.mark.parametrize("word", ["", "a b", "NUMBER_0", "@x.f", "2", '"', "'", "a-", "param:x"])
def test_words_that_mean_something_to_a_program_are_not_plain(word):
    assert not is_plain(word)
