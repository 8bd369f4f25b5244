"""Copies as text: what all copies of a row share is encoded once."""

import json
from collections.abc import Iterator
from json.encoder import encode_basestring

from genie_dp.augment.expand import Copy, Template
from genie_dp.records import Example, Slot, source_of_copy

_quoted = encode_basestring


def json_lines(template: Template, copies: Iterator[Copy]) -> Iterator[str]:
    """Yield the lines of JSON of a row's copies, with line ends."""
    row = template.row
    parent = _quoted(row.id)
    head = f'{{"id":{parent[:-1]}-'
    derivation = ",".join(map(_quoted, row.derivation))
    functions = ",".join(map(_quoted, row.functions))
    source = source_of_copy(row, "augmented")
    shared = (
        f',"language":{_quoted(row.language)},"source":"{source}","parent":{parent},'
        f'"derivation":[{derivation}],"functions":[{functions}],"depth":{row.depth},"slots":{{'
    )
    end = f'}},"weight":{json.dumps(row.weight)}}}\n'
    slots: dict[int, str] = {}
    for number, copy in enumerate(copies):
        said = slots.get(copy.filled)
        if said is None:
            said = slots[copy.filled] = _slots(template, copy)
        yield (
            f'{head}{number}","utterance":{_quoted(copy.utterance)},'
            f'"program":{_quoted(copy.program)}{shared}{said}{end}'
        )


def _slots(template: Template, copy: Copy) -> str:
    return ",".join(
        f'{_quoted(name)}:{{"type":{_quoted(slot.type)},"parameter":{_quoted(slot.parameter)}}}'
        for name, slot in _left(template, copy)
    )


def _left(template: Template, copy: Copy) -> Iterator[tuple[str, Slot]]:
    """Yield (new name, slot) of the placeholders that stay, in the order of the sentence."""
    names = template.names[copy.filled]
    for place in template.places:
        slot = template.row.slots.get(place.token)
        if slot is not None and place.mark in names:
            yield names[place.mark], slot


def tsv_lines(template: Template, copies: Iterator[Copy]) -> Iterator[str]:
    """Yield `id<TAB>utterance<TAB>program` of a row's copies, with line ends."""
    parent = template.row.id
    for number, copy in enumerate(copies):
        yield f"{parent}-{number}\t{copy.utterance}\t{copy.program}\n"


def examples(template: Template, copies: Iterator[Copy]) -> Iterator[Example]:
    """Yield a row's copies as rows."""
    row = template.row
    source = source_of_copy(row, "augmented")
    for number, copy in enumerate(copies):
        yield Example(
            f"{row.id}-{number}", copy.utterance, copy.program, row.language, source,
            row.id, row.derivation, row.functions, row.depth, dict(_left(template, copy)),
            row.weight,
        )  # fmt: skip
