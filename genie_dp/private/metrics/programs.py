"""Programs as they are measured: functions, and the graph without its values."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from genie_dp.errors import GenieError
from genie_dp.languages import Language
from genie_dp.languages.sexpr.ast import Atom, Node, Text, label_index
from genie_dp.languages.thingtalk.slots import is_slot

Kind = Literal["valid", "ill-typed", "unreadable"]
_MOST_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Read:
    """What is measured of a program.

    Attributes:
        kind: whether it can be read, and fits the library. Of one that cannot be read, there is
            nothing else.
        functions: name -> how often it is used.
        graph: one text for all programs that differ in values only.
    """

    kind: Kind
    functions: Counter[str] = field(default_factory=Counter)
    graph: str = ""


@dataclass(slots=True)
class Programs:
    """Reads token forms of one language; the last ones are kept.

    Attributes:
        library: that of the language: a skills.Library, Declarations or None.
    """

    language: Language
    library: Any = None
    _kept: dict[str, Read] = field(default_factory=dict, repr=False)

    def read(self, text: str) -> Read:
        """Return what is measured of a program.

        >>> from genie_dp.languages import get_language
        >>> programs = Programs(get_language("sexpr"))
        >>> programs.read("( f ( g 4L ) )")
        Read(kind='valid', functions=Counter({'f': 1, 'g': 1}), graph='( f ( g NUMBER ) )')
        >>> programs.read("( f").kind
        'unreadable'
        """
        found = self._kept.get(text)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[text] = self._read(text)
        return found

    def _read(self, text: str) -> Read:
        language, library = self.language, self.library
        try:
            program = language.from_tokens(text)
        except GenieError:
            return Read("unreadable")
        used = language.functions(program)
        try:
            if any(one.severity == "error" for one in language.check(program, library)):
                return Read("ill-typed", used)
            # Twice: what is equal without its values may stand in the order of the values.
            bare = language.anonymize(language.canonical(program, library))
            again = language.canonical(_without_words(bare), library)
            return Read("valid", used, _unnumbered(language.tokens(again, library)))
        except GenieError:
            return Read("ill-typed", used)

    def functions(self, texts: Iterable[str]) -> Counter[str]:
        """Return how often each function is used in programs that can be read."""
        found = Counter[str]()
        for text in texts:
            found.update(self.read(text).functions)
        return found


def _unnumbered(text: str) -> str:
    """Return a text whose placeholders have no numbers: which value is which is none of a graph's.

    Those of a row are numbered as its sentence says them, and equal values share one in languages
    without types.

    >>> _unnumbered("now => @a.b param:x:String = QUOTED_STRING_1")
    'now => @a.b param:x:String = QUOTED_STRING'
    """
    return " ".join(t.rpartition("_")[0] if is_slot(t) else t for t in text.split(" "))


def _without_words(program: Any) -> Any:
    """Return a program of TOP with one `_` for the words of each node; any other as it is.

    In square brackets (TOP, Gupta et al. 2018) bare words are words of the sentence, hence values;
    `Language.anonymize` takes them for symbols, which they are in round ones.
    """
    if not isinstance(program, Node):
        return program
    items = [_without_words(item) for item in program.items]
    if program.bracket == "[":
        place = label_index(program)
        nodes = [item for k, item in enumerate(items) if k == place or isinstance(item, Node)]
        has_words = any(k != place and isinstance(i, Atom | Text) for k, i in enumerate(items))
        items = [*nodes, Atom("_")] if has_words else nodes
    return replace(program, items=tuple(items))
