"""Private training without what takes longer than tiny runs: an engine is checked once a model."""

import pytest

_CHECKED = set()


@pytest.fixture(scope="module", autouse=True)
def engines_checked_once():
    """Check an engine once for each model and collation; measure no speed; train on one thread."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    from genie_dp.private.generators import duration
    from genie_dp.private.generators.plans import Speed
    from genie_dp.private.training import check

    whole = check.check_engine

    def once(model, engine, **options):
        shapes = tuple((name, p.shape, p.requires_grad) for name, p in model.named_parameters())
        collate = options.get("collate")
        key = (type(model), shapes, engine, getattr(collate, "__func__", collate))
        if key not in _CHECKED:
            whole(model, engine, **options)
            _CHECKED.add(key)

    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "check_engine", once)
        patch.setattr(duration, "measure_speed", lambda *_, **__: Speed(0.001, 0.001, 0.001))
        yield
