"""A decoder that begins as a language model of programs (Genie, section 4.2)."""

import torch

from genie_dp.learn.language_model import ProgramLSTM
from genie_dp.learn.recurrent import RecurrentNetwork


def start_decoder(network: RecurrentNetwork, model: ProgramLSTM) -> None:
    """Give a network the model's token vectors and LSTM; if it is fed by a model, that one, too.

    Raises:
        ValueError: the model is of another size or vocabulary.
    """
    table = network.embedding.table()
    if table.shape != model.words.weight.shape:
        raise ValueError(f"expected {tuple(table.shape)}, got {tuple(model.words.weight.shape)}")
    with torch.no_grad():
        table.copy_(model.words.weight)
    network.first.load_state_dict(model.first.state_dict())
    if network.feed is not None:
        network.feed.model.load_state_dict(model.state_dict())
