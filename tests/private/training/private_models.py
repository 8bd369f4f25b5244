"""Tiny language models for private training, good ones and others, and small runs of them."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from torch import nn  # noqa: E402

from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder, collate, losses  # noqa: E402  # noqa: E402
from genie_dp.private.generators.stages import EncodedRow  # noqa: E402
from genie_dp.private.ledger.guard import Units  # noqa: E402
from genie_dp.private.training.run import PrivateRun  # noqa: E402
from genie_dp.private.training.settings import DPSettings  # noqa: E402
from genie_dp.records import Spent  # noqa: E402

WORDS = 13
SIZE = 8


class LanguageModel(nn.Module):
    """Anything with logits (B, T, V) and the loss of each row."""

    def loss(self, batch):
        return losses(self(batch.inputs), batch.targets)


class Tied(LanguageModel):
    """One matrix in two layers: for reading and, in a Linear, for writing."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.inner = nn.Linear(SIZE, SIZE)
        self.head = nn.Linear(SIZE, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        return self.head(torch.tanh(self.inner(self.words(ids))))


class Dropping(Tied):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, ids):
        return self.head(self.dropout(self.inner(self.words(ids))))


class TiedByHand(Tied):
    """One matrix, the second time outside of any layer."""

    def __init__(self):
        super().__init__()
        del self.head

    def forward(self, ids):
        return torch.tanh(self.inner(self.words(ids))) @ self.words.weight.T


class Recurrent(LanguageModel):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.recurrent = nn.LSTM(SIZE, SIZE, batch_first=True)
        self.head = nn.Linear(SIZE, WORDS)

    def forward(self, ids):
        return self.head(self.recurrent(self.words(ids))[0])


class RelativeBias(LanguageModel):
    """Attention with a table of distances, looked up once for all rows, as in T5."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.distances = nn.Embedding(8, 1)
        self.head = nn.Linear(SIZE, WORDS)

    def forward(self, ids):
        x = self.words(ids)
        places = torch.arange(ids.shape[1], device=ids.device)
        away = places[:, None] - places[None]
        scores = x @ x.transpose(1, 2) + 20 * self.distances(away.clamp(0, 7))[..., 0]
        seen = scores.masked_fill(away < 0, -1e9).softmax(2)
        return self.head(x + seen @ x)


class BatchNormed(LanguageModel):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.norm = nn.BatchNorm1d(SIZE)
        self.head = nn.Linear(SIZE, WORDS)

    def forward(self, ids):
        return self.head(self.norm(self.words(ids).transpose(1, 2)).transpose(1, 2))


def decoder(*, size=SIZE, layers=1):
    return PreLNDecoder(WORDS, DecoderSettings(size, layers, heads=2, longest=16))


def gpt2():
    """GPT-2 of transformers with tied weights and positions of shape (B, T)."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=WORDS, n_positions=16, n_embd=SIZE, n_layer=1, n_head=2, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip

    class GPT2(LanguageModel):
        def __init__(self):
            super().__init__()
            self.body = transformers.GPT2LMHeadModel(config)

        def forward(self, ids):
            places = torch.arange(ids.shape[1]).repeat(len(ids), 1)
            return self.body(input_ids=ids, position_ids=places, use_cache=False).logits

    return GPT2()


def gpt2_with_adapters():
    """The same, frozen, with low-rank adapters."""
    peft = pytest.importorskip("peft")
    model = gpt2()
    options = peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
    model.body = peft.get_peft_model(model.body, options).base_model.model
    return model


def made(build, *arguments, **options):
    """Return a model with weights of a seed, in train mode."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return build(*arguments, **options).train()


def rows(count, *, seed=0, longest=6):
    """Return made-up rows of 2 to `longest` + 2 tokens."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (count,), generator=generator).tolist()
    words = [torch.randint(4, WORDS, (n,), generator=generator).tolist() for n in lengths]
    return [EncodedRow((2, *w, 3)) for w in words]


def batch(count=5, **options):
    return collate(rows(count, **options))


SPENT = Spent(3.0, 1e-5, "user", "add-or-remove-one", "rdp", ("what the ledger says",))
SMALL = {"noise_multiplier": 1.0, "rate": 0.5, "steps": 6, "batch": 4.0}


def small(**changes):
    return DPSettings(**{**SMALL, **changes})


def spend(mechanisms):
    return SPENT


def units(count=8, *, each=2):
    made_up = rows(count * each)
    return Units(tuple(made_up[i * each : (i + 1) * each]) for i in range(count))


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run_of_model(model, *, rows=None, **changes):
    run = PrivateRun(model, rows if rows is not None else units(), small(**changes))
    run.spent = SPENT
    return run


class Interrupted(Exception):
    pass


def stopping(after):
    """Return what listens to a run and interrupts it after a step."""

    def listen(event):
        if event["step"] == after:
            raise Interrupted

    return listen
