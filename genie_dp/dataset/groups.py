"""How many rows of each sort a part holds."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from genie_dp.dataset.keys import combination
from genie_dp.dataset.scan import Row
from genie_dp.dataset.traits import CLASSES, TRAITS, class_of, traits_of


@dataclass(slots=True)
class Groups:
    """Rows by class (Genie, Fig. 7) and trait, by source, and the functions they use."""

    rows: int = 0
    traits: Counter[int] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    combinations: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Count a row."""
        self.rows += 1
        self.traits[traits_of(row.program, row.functions, row.language)] += 1
        self.sources[row.source] += 1
        self.languages[row.language] += 1
        self.combinations[combination(row.functions)] += 1

    def functions(self) -> set[str]:
        """Return the functions in use."""
        return {name for found in self.combinations for name in found.split(" ") if name}

    def by_class(self) -> dict[str, int]:
        """Return rows by the classes of Figure 7, in its order."""
        counts = Counter[int]()
        for bits, rows in self.traits.items():
            counts[class_of(bits)] += rows
        return {name: counts[place] for place, (_, name) in enumerate(CLASSES)}

    def by_trait(self) -> dict[str, int]:
        """Return rows with filters, with timers and so on; a row may be in several."""
        return {
            name: sum(rows for bits, rows in self.traits.items() if bits & bit)
            for bit, name in TRAITS
        }

    def described(self) -> dict[str, Any]:
        """Return what a manifest says.

        >>> groups = Groups()
        >>> groups.add(Row("a", "hi", "now => @c.f", "thingtalk", "human", "", ["@c.f"]))
        >>> groups.described()["classes"]["primitive"], groups.described()["sources"]
        (1, {'human': 1})
        """
        return {
            "rows": self.rows,
            "classes": self.by_class(),
            "traits": self.by_trait(),
            "sources": dict(sorted(self.sources.items())),
            "languages": dict(sorted(self.languages.items())),
            "functions": len(self.functions()),
            "function_combinations": len(self.combinations),
        }
