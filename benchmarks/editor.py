"""How long the editor takes on the shipped library: docs/research/editor.md.

    python benchmarks/editor.py

It asks `genie-dp grammar editor` over its protocol, each thing 20 times, and prints the median and
the worst of what the server's process needed: milliseconds of CPU, and of waiting. Needs Linux.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.serve.editor_client import EditorClient  # noqa: E402

TIMES = 20
SKILL = ROOT / "thingpedia/com.gmail"
LARGEST = ROOT / "thingpedia/com.spotify/templates.genie"
CATEGORY = "N|P := ('my emails'"
FUNCTION = "NP := 'my unread emails' -> @com.gmail.inb|ox()"
PARAMETER = "filter is_un|read"
PLACEHOLDER = "labels contains $|l"


class Measured:
    """A client whose server is measured."""

    def __init__(self) -> None:
        self.client = EditorClient(folder=ROOT)

    def cpu(self) -> float:
        """Return the milliseconds of CPU that the server has had so far."""
        tasks = Path(f"/proc/{self.client.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def measure(self, name: str, ask: Callable[[int], object]) -> None:
        """Ask something again and again, and print how long it took."""
        waited, worked = [], []
        for number in range(TIMES):
            time.sleep(0.02)
            before, start = self.cpu(), time.perf_counter()
            ask(number)
            waited.append(1000 * (time.perf_counter() - start))
            worked.append(self.cpu() - before)
        print(
            f"{name:32} CPU {statistics.median(worked):6.0f} {max(worked):6.0f}"
            f"   waiting {statistics.median(waited):6.0f} {max(waited):6.0f}",
            flush=True,
        )

    def open(self, path: Path) -> tuple[str, str]:
        """Open a file; return its URI and text once it was checked."""
        uri = self.client.open(path)
        self.until_checked(uri, 0)
        return uri, path.read_text(encoding="utf-8")

    def until_checked(self, uri: str, seen: int) -> None:
        """Wait for the diagnostics of a file after those that were seen."""
        self.client.until(lambda: [u for u, _ in self.client.times[seen:] if u == uri])

    def change(self, uri: str, text: str) -> None:
        """Change a text, and wait for its diagnostics."""
        seen = len(self.client.times)
        self.client.change(uri, text)
        self.until_checked(uri, seen)

    def edits(self, path: Path, mark: str) -> None:
        """Measure a letter more behind a mark, at places all over a file; then a line more."""
        uri, text = self.open(path)
        places = [at + len(mark) for at in range(len(text)) if text.startswith(mark, at)]

        def letter(number: int) -> None:
            place = places[number * len(places) // TIMES]
            self.change(uri, f"{text[:place]}z{text[place:]}")

        name = f"{path.parent.name}/{path.name}"
        self.measure(f"a letter in {name}", letter)
        self.change(uri, text)
        self.measure(f"a line above {name}", lambda n: self.change(uri, "\n" * (n + 1) + text))
        self.change(uri, text)


def main() -> None:
    """Measure what editors ask."""
    measured = Measured()
    client = measured.client
    uri, text = measured.open(SKILL / "templates.genie")
    print(f"reading and checking all: CPU {measured.cpu():.0f}")
    client.until(lambda: "being made" not in str(client.hover(uri, text, CATEGORY)))
    for path, mark in (
        (SKILL / "templates.genie", ":= '"), (LARGEST, ":= '"),
        (ROOT / "grammars/en/commands.genie", "('"), (SKILL / "skill.tt", 'base=["'),
    ):  # fmt: skip
        measured.edits(path, mark)
    text = text.replace("'my unread emails' -> inbox()", "'my unread emails' -> @com.gmail.inbox()")
    measured.change(uri, text)
    measured.measure(
        "completion of all functions",
        lambda _: client.complete(uri, text, "'my unread emails' -> @|com.gmail.inbox()"),
    )
    measured.measure(
        "completion of some functions",
        lambda _: client.complete(uri, text, "'my unread emails' -> @com.gm|ail.inbox()"),
    )
    measured.measure("completion of children", lambda _: client.complete(uri, text, "NP := |('the"))
    for name, mark in (
        ("category", CATEGORY), ("function", FUNCTION), ("parameter", PARAMETER),
        ("placeholder", PLACEHOLDER),
    ):  # fmt: skip
        measured.measure(f"hover of a {name}", lambda _, mark=mark: client.hover(uri, text, mark))
    for name, mark in (("category", CATEGORY), ("function", FUNCTION)):
        measured.measure(
            f"definition of a {name}", lambda _, mark=mark: client.definition(uri, text, mark)
        )
        measured.measure(
            f"uses of a {name}", lambda _, mark=mark: client.references(uri, text, mark)
        )
    measured.measure("renaming NP", lambda _: client.rename(uri, text, CATEGORY, "NOUNS"))
    measured.measure("layout", lambda _: client.format(uri))
    client.close()


if __name__ == "__main__":
    main()
