"""Rows that differ in one word from others and mean the opposite, made while a parser is trained.

Of two programs that differ in a sign alone a network writes the one that it saw more often: "the
garage door goes down" is learned from rows, of which most say that it opens. So where a row says
its sign in a word, it is taught with the opposite word, too.
"""

from collections.abc import Iterator
from itertools import islice

from genie_dp.languages.programs import POLES
from genie_dp.models.vocabulary import Pair
from genie_dp.parser.rows import Rows, RowStore
from genie_dp.rng import stream

# Rows that are made, and rows that are looked at for them.
_MOST, _MOST_TRIED = 3_000, 100_000

_OPPOSITE = {one: other for pair in POLES for one, other in (pair, pair[::-1])}

# Words of which each pair says the sign of a program: those of the first that of the first pole.
_GREATER = (
    ("above", "below"), ("over", "under"), ("more", "less"), ("more", "fewer"),
    ("higher", "lower"), ("greater", "smaller"), ("larger", "smaller"), ("bigger", "smaller"),
    ("longer", "shorter"), ("warmer", "colder"), ("hotter", "cooler"), ("heavier", "lighter"),
    ("after", "before"), ("later", "earlier"), ("since", "until"), ("newer", "older"),
    ("exceeds", "undercuts"), ("faster", "slower"), ("least", "most"),
)  # fmt: skip
_SAID = {
    ">=": _GREATER,
    ">": _GREATER,
    "on": (("on", "off"),),
    "true": (("on", "off"), ("open", "closed"), ("opens", "closes"), ("locked", "unlocked"),
             ("opened", "closed"), ("online", "offline")),
    "open": (("open", "close"), ("opened", "closed")),
    "opened": (("opened", "closed"), ("open", "closed")),
    "lock": (("lock", "unlock"),),
    "locked": (("locked", "unlocked"), ("lock", "unlock")),
    "enable": (("enable", "disable"),),
    "start": (("start", "stop"),),
    "increase": (("increase", "decrease"), ("raise", "lower")),
    "up": (("up", "down"),),
    "max": (("highest", "lowest"), ("largest", "smallest"), ("longest", "shortest"),
            ("most", "least"), ("hottest", "coldest"), ("latest", "earliest"),
            ("biggest", "smallest")),
    "mute": (("mute", "unmute"),),
    "arm": (("arm", "disarm"),),
}  # fmt: skip
# Pole -> word -> the word that says its opposite.
_WORDS: dict[str, dict[str, str]] = {}
for _sign, _pairs in _SAID.items():
    for _one, _other in reversed(_pairs):  # of several opposites the first
        _WORDS.setdefault(_sign, {})[_one] = _other
        _WORDS.setdefault(_OPPOSITE[_sign], {})[_other] = _one


def add_contrast(rows: Rows) -> None:
    """Add to rows those that mean the opposite of others and differ in one word."""
    rng = stream(0, "contrast")
    own = rows.own_sentences()
    known = {program for store in rows.parts for program in store.programs()}
    made: dict[str, str] = {}
    for store in rows.parts:
        most = min(len(store), _MOST_TRIED // len(rows.parts))
        have_sign = _rows_of_one_sign(store)
        for place in rng.sample(range(len(store)), most):
            opposites = _opposites(store[place]) if have_sign[place] else iter(())
            for sentence, program in islice(opposites, 1):
                # A program that no row has may be one that nobody means: "the least likely name".
                if program in known and sentence not in own:
                    made[sentence] = program
    for sentence in islice(made, _MOST):
        rows.contrast.add(sentence, made[sentence])


def _rows_of_one_sign(store: RowStore) -> list[bool]:
    """Return for each row whether its program has one sign; other rows have no opposite."""
    is_sign = [_pole(name) in _OPPOSITE for name in store.names]
    return [sum([is_sign[token] for token in program]) == 1 for _, program in store.numbered()]


def _opposites(pair: Pair) -> Iterator[tuple[str, str]]:
    """Yield the opposite of a row, where one word of it alone says the one sign of its program."""
    program, sentence = pair.program, pair.sentence
    signs = [place for place, token in enumerate(program) if _pole(token) in _OPPOSITE]
    if len(signs) != 1 or {"not", "!"} & set(program):
        return
    pole = _pole(program[signs[0]])
    words = _WORDS.get(pole, {})
    others = _WORDS.get(_OPPOSITE[pole], {})
    said = [place for place, word in enumerate(sentence) if word in words or word in others]
    if len(said) != 1 or sentence[said[0]] not in words or sentence[said[0]] in program:
        return
    place, sign = said[0], signs[0]
    if pole in ("true", "false") and not _is_of(program[sign - 2], sentence[place]):
        return
    token = program[sign][: -len(pole)] + _OPPOSITE[pole]
    opposite = (*sentence[:place], words[sentence[place]], *sentence[place + 1 :])
    yield " ".join(opposite), " ".join((*program[:sign], token, *program[sign + 1 :]))


def _is_of(parameter: str, word: str) -> bool:
    """Tell whether a parameter is about what a word says.

    >>> _is_of("param:is_locked:Boolean", "unlocked"), _is_of("param:is_public:Boolean", "on")
    (True, False)
    """
    names = parameter.split(":")[1:2]
    words = (word, _WORDS["true"].get(word) or _WORDS["false"].get(word, ""))
    parts = [part for name in names for part in name.split("_")]
    return any(part[:4] == one[:4] for part in parts for one in words)


def _pole(token: str) -> str:
    """Return what a token of a program says: "on" of "enum:on"."""
    return token.removeprefix("enum:")
