"""Random sentences of a grammar, words only: the floor under an engine that makes programs too.

    python benchmarks/string_sampler.py --size 100000 --max-depth 5 --output sentences.txt

It reads the same skills and templates as `genie-dp synthesize` and expands the utterances of the
templates at random. No types, guards, requests or agreement, no program, no numbered placeholders,
no repeats left out: what is left is the drawing and joining of words that any such tool does.
"""

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from genie_dp.cli.inputs import load_inputs
from genie_dp.skills import vocabulary
from genie_dp.templates import ast
from genie_dp.templates.ast import children_of, plain_utterances
from genie_dp.templates.grammar import BUILT_IN, Grammar, subset

HOLE = "\0"  # a placeholder of a template: filled by another phrase, or by VALUE
VALUE = "VALUE"
Say = Callable[[int], str]


class Sampler:
    """Says random phrases of the categories of a grammar."""

    def __init__(self, grammar: Grammar, library: Any, seed: int):
        """Flatten the utterances of all templates."""
        self.choice = random.Random(seed).choice
        self.phrases: dict[tuple[str, str], list[str]] = {}
        for pool, found in (("OUTPUT", vocabulary.outputs), ("INPUT", vocabulary.inputs)):
            for phrase in found(library):
                self.phrases.setdefault((pool, phrase.part), []).append(phrase.words)
                self.phrases.setdefault((pool, ""), []).append(phrase.words)
        self.tables = {path: [r.words for r in t.rows] for path, t in grammar.tables.items()}
        self.least = _least_depths(grammar)
        self.rules: dict[str, list[tuple[int, list[Say]]]] = {}
        for template in grammar.templates:
            depth = _depth(template, self.least)
            for plain in plain_utterances(template.utterance):
                said = [self._say(item) for item in plain if not isinstance(item, ast.Determiner)]
                self.rules.setdefault(template.category, []).append((depth, said))
        self.by_depth: dict[tuple[str, int], Sequence[list[Say]]] = {}

    def sentence(self, category: str, depth: int) -> str:
        """Return words of a category, with at most that many templates inside each other."""
        key = category, depth
        if key not in self.by_depth:
            rules = self.rules.get(category, [])
            least = min((d for d, _ in rules), default=0)
            self.by_depth[key] = [said for d, said in rules if d <= max(depth, least)]
        said = self.choice(self.by_depth[key])
        return " ".join([say(depth - 1) for say in said])

    def _say(self, item: ast.PlainItem) -> Say:
        if isinstance(item, ast.Child):
            return self._child(item)
        words = (
            " ".join(_word(part) for part in item.parts)
            if isinstance(item, ast.QuotedWords)
            else ""
        )
        return lambda depth: words

    def _child(self, child: ast.Child) -> Say:
        gap, pos = child.request("gap"), child.request("pos")
        if child.category == "VALUE":
            return lambda depth: VALUE
        if child.category in BUILT_IN or child.table:
            pool = self.tables.get(child.table) or self.phrases.get(
                (child.category, pos.values[0] if pos else ""), [""]
            )
            inside: Say = lambda depth: self.choice(pool).replace("#", HOLE)  # noqa: E731
        else:
            inside = lambda depth: self.sentence(child.category, depth)  # noqa: E731
        if gap is None or gap.values == ("#",):  # which stays open
            return inside
        filler = self._child(gap.child) if gap.child else lambda depth: gap.values[0]

        def filled(depth: int) -> str:
            text = inside(depth)
            said = filler(depth)
            return text.replace(HOLE, said, 1) if HOLE in text else f"{text} {said}"

        return filled


def _word(part: ast.Part) -> str:
    match part:
        case ast.PlainWords(text):
            return text
        case ast.Inflect():
            return part.forms[0]
        case ast.Placeholder():
            return HOLE


def _depth(template: ast.Template, least: dict[str, int]) -> int:
    inner = [least[c.category] for c in children_of(template.utterance) if c.category in least]
    return 1 + max(inner) if inner else 0


def _least_depths(grammar: Grammar) -> dict[str, int]:
    """Return the least depth of each category that has children of its own."""
    least = dict.fromkeys(grammar.categories, 1 << 30)
    for _ in least:  # a category needs at most all others
        for template in grammar.templates:
            depth = _depth(template, least)
            least[template.category] = min(least[template.category], depth)
    return least


@click.command()
@click.option("--skills", multiple=True, type=click.Path(path_type=Path), help="As for synthesize.")
@click.option("--skip-broken", is_flag=True)
@click.option("--size", default=100_000, show_default=True)
@click.option("--max-depth", default=5, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(**options: Any) -> None:
    """Write random sentences, one a line."""
    inputs = load_inputs("thingtalk", options["skills"], (), skip_broken=options["skip_broken"])
    grammar = subset(inputs.grammar)
    sampler = Sampler(grammar, inputs.library, options["seed"])
    roots = [category.name for category in grammar.roots()]
    depth = options["max_depth"]
    with options["output"].open("w", encoding="utf-8") as lines:
        for _ in range(options["size"]):
            text = sampler.sentence(sampler.choice(roots), depth)
            lines.write(" ".join(text.replace(HOLE, VALUE).split()) + "\n")


if __name__ == "__main__":
    main()
