"""Expands rule files: word lists and sentence patterns that give the values of a kind.

A rule file has sections. `[root]` holds the patterns, one a line; `[name]` holds what `{name}`
stands for, by semicolons. `(a|b)` is a choice, `(a|)` something that may be left out, `a(n)` the
article that fits the next word. Every file can use the sections of `words.txt`.
`#` begins a comment line.
"""

import random
import re
from collections.abc import Mapping
from pathlib import Path

from genie_dp.english.forms import article
from genie_dp.skills.words import join_tokens

Sections = Mapping[str, list[str]]

_SECTION = re.compile(r"\[([a-z_0-9]+)\]$")
_PLACE = re.compile(r"\{([a-z_0-9]+)\}")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
# May stand twice in a value.
_FREE = frozenset(("the", "and", "for", "with", "from", "you", "let"))
# A pattern that gave nothing new so often in a row is used up.
_USED_UP = 400


def read_sections(path: Path) -> dict[str, list[str]]:
    """Return the sections of a rule file; in word sections a line may hold several, by comma."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        found = _SECTION.match(line)
        if found:
            name = found.group(1)
            if name in sections:
                raise ValueError(f"{path}: section [{name}] stands twice")
            sections[name] = []
        elif not name:
            raise ValueError(f"{path}: {line!r} stands before the first [section]")
        elif name.startswith("root"):
            sections[name].append(line)
        else:
            sections[name].extend(part.strip() for part in line.split(";") if part.strip())
    return sections


def expand(path: Path, words: Sections, *, most: int, longest: int) -> list[str]:
    """Return up to `most` values of a rule file, sorted, none longer than `longest` words.

    Patterns take turns, so that one with many combinations does not drown the others.
    """
    sections = {**words, **read_sections(path)}
    rng = random.Random(f"values:{path.stem}")
    patterns = list(sections["root"])
    found: dict[str, None] = {}
    misses = dict.fromkeys(range(len(patterns)), 0)
    while misses and len(found) < most:
        for index in list(misses):
            text = _say(patterns[index], sections, rng, path)
            if text in found or not _is_good(text, longest):
                misses[index] += 1
                if misses[index] > _USED_UP:
                    del misses[index]
                continue
            misses[index] = 0
            found[text] = None
            if len(found) == most:
                break
    return sorted(found)


def _say(pattern: str, sections: Sections, rng: random.Random, path: Path) -> str:
    text = pattern.replace("a(n)", "ARTICLE_1")
    for _ in range(80):
        if _CHOICE.search(text):
            text = _CHOICE.sub(lambda m: rng.choice(m.group(1).split("|")), text, count=1)
        elif found := _PLACE.search(text):
            if found.group(1) not in sections:
                raise ValueError(f"{path}: no section [{found.group(1)}] for {pattern!r}")
            chosen = rng.choice(sections[found.group(1)])
            chosen = chosen.replace("a(n)", "ARTICLE_1")
            text = text[: found.start()] + chosen + text[found.end() :]
        else:
            return _with_articles(join_tokens(text))
    raise ValueError(f"{path}: {pattern!r} never ends")


def _with_articles(text: str) -> str:
    words = text.split(" ")
    for index, word in enumerate(words[:-1]):
        if word == "ARTICLE_1":
            words[index] = article(" ".join(words[index + 1 :]))
    return " ".join(words)


def _is_good(text: str, longest: int) -> bool:
    """Tell whether no content word stands twice and the length fits."""
    words = text.split(" ")
    content = [w for w in words if len(w) > 2 and w not in _FREE]
    return len(words) <= longest and len(set(content)) == len(content)
