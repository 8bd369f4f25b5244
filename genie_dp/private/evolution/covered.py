"""Whether a ledger knows what a table and a generator cost that an evolution begins with.

What comes of the run says the guarantee of that ledger, which would leave their cost out.
"""

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.generator import Generator
from genie_dp.private.evolution.prompted import PromptedGenerator, Trained
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.tables.table import RUN, SyntheticTable


def check_table(table: SyntheticTable, ledger: Ledger) -> None:
    """Refuse a table whose cost the ledger does not know.

    Raises:
        GenieError: U009, its release is no entry; or it is of other units, or cost more than all
            that the ledger knows of.
    """
    spent, known = table.spent, ledger.spent()
    if spent is None:
        return
    hint = "give a table of this private file, released with this ledger"
    # One that was made in Python does not name its run.
    run = table.release.get(RUN)
    if run is not None and run not in [entry.run for entry in ledger.entries]:
        message = f"{ledger.path} knows nothing of the release of the table"
        raise GenieError(Problem("U009", message, hint=hint))
    is_same = (spent.unit, spent.relation, spent.delta) == (known.unit, known.relation, known.delta)
    if not is_same or spent.epsilon > known.epsilon * (1 + 1e-9):
        message = f"the table was released for epsilon {spent.epsilon:.4g}, unit {spent.unit}, but "
        message += f"the ledger knows of {known.epsilon:.4g}, unit {known.unit}"
        raise GenieError(Problem("U009", message, hint=hint))


def check_generator(generator: Generator, ledger: Ledger) -> None:
    """Refuse a trained model whose training on private rows is no entry of the ledger (U009)."""
    if not isinstance(generator, PromptedGenerator):
        return
    completer = generator.completer
    if not isinstance(completer, Trained):
        return
    if completer.run not in [entry.run for entry in ledger.entries]:
        hint = "give a generator that was trained on this private file, with this ledger"
        message = f"{ledger.path} knows nothing of the training of the generator {generator.name!r}"
        raise GenieError(Problem("U009", message, hint=hint))
