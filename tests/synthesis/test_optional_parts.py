"""Templates with optional parts: one template, all combinations, one share of the rows."""

import re
from collections import Counter
from pathlib import Path

import pytest

from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.from_tokens import piece_from_tokens
from genie_dp.languages.thingtalk.render import render
from genie_dp.synthesis.cells import cells_of
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SynthesisEngine, build_engine
from genie_dp.synthesis.trials import samples
from genie_dp.templates.check import check_grammar
from genie_dp.templates.load import load_grammar
from tests.languages.thingtalk.thingtalk_library import example_library
from tests.templates.template_files import BASE, described

PAGE = Path(__file__).parents[2] / "docs" / "templates.md"


def engine_of(text: str, folder: Path, **settings: object) -> SynthesisEngine:
    categories = "".join(line for line in BASE.splitlines(True) if line.startswith("category"))
    (folder / "letters.genie").write_text(categories + text, encoding="utf-8")
    language, library = get_language("thingtalk"), example_library()
    grammar = load_grammar(folder / "letters.genie", language)
    problems = check_grammar(grammar, language, library)
    assert not [p for p in problems if p.severity == "error"], described(problems)
    config = SynthesisConfig(**{"size": 1000, "max_depth": 1, "pool_size": 300, **settings})
    return build_engine(compile_grammar(grammar, language, library, config), config)


def pairs_of(text: str, folder: Path) -> set[tuple[str, str]]:
    """Return all that the templates of a text say, without gaps."""
    return {
        (words, str(render(piece_from_tokens(program, kind))))
        for sample in samples(engine_of(text, folder), 200)
        for words, program in sample.pairs
        for kind in ["action" if sample.template.category == "VP" else "query"]
        if "____" not in words
    }


def test_the_page_shows_what_its_templates_say(tmp_path):
    section = PAGE.read_text(encoding="utf-8").partition("### Optional parts\n")[2]
    text, shown = re.findall(r"(?:^    .*\n)+", section, re.MULTILINE)[:2]
    pairs = pairs_of(re.sub("^    ", "", text, flags=re.MULTILINE), tmp_path)
    lines = [line.strip() for line in shown.splitlines()]
    assert len(lines) == 8
    assert set(zip(lines[::2], lines[1::2], strict=True)) <= pairs
    # twice of two ways and none to say the subject, times three priorities and none; two clauses
    assert len(pairs) == 3 * 4 + 4


def test_what_needs_an_absent_part_is_absent(tmp_path):
    pairs = pairs_of(
        "NP := 'mail' ('about ${s:const} or ${t:const}')? ('since ${d:const}')? -> "
        "@com.example.mail.inbox() filter (subject =~ $s || subject =~ $t) && date >= $d;",
        tmp_path,
    )
    about = "subject =~ QUOTED_STRING_0 || subject =~ QUOTED_STRING_1"
    assert {program for _, program in pairs} == {
        "@com.example.mail.inbox()",
        "(@com.example.mail.inbox()) filter date >= DATE_0",
        f"(@com.example.mail.inbox()) filter {about}",
        f"(@com.example.mail.inbox()) filter date >= DATE_0 && ({about})",
    }


MANY = """
COMMAND := a:VP -> now => a;
VP := 'write to $a' ('about ${s:const}')? ('marked as ${p:const}')? ('labeled ${l:const}')?
  -> @com.example.mail.send(to = $a, subject = $s, priority = $p, labels = [$l]) #[id="many"];
VP := 'drop $a a line' -> @com.example.mail.send(to = $a) #[id="one"];
VP := 'mail $a at once' -> @com.example.mail.send(to = $a, priority = enum(high)) #[id="two"];
WP := 'at ${t:const}' -> attimer time = $t;
COMMAND := s:WP a:VP -> s => a #[id="when"];
WP := 'every ${i:const}' -> timer(base = now, interval = $i);
WP := 'since ${d:const} every hour' -> timer(base = $d, interval = 1h);
"""


def test_all_ways_of_a_template_have_one_id_and_share_its_quota(tmp_path):
    made = engine_of(MANY, tmp_path, max_depth=2)
    rules = [r for r in made.compiled.rules["COMMAND"] if r.template.id == "when"]
    cells = cells_of(rules, (1,), made.pools)
    asked, count = Counter[str](), Counter[str]()
    for cell, pull in zip(cells, cells.pull(0.25).tolist(), strict=True):
        of = Counter(piece.derivation for piece in cell.lists[1])
        count += of
        for name, number in of.items():
            asked[name] += pull * number / of.total()
    assert count == {'"many"': 2 * 4 * 2, '"one"': 1, '"two"': 1}
    assert asked['"many"'] == pytest.approx(2 * asked['"one"'])  # 16 sentences, said in 8 ways
    assert asked.total() == pytest.approx((3 * 4) ** 0.25)  # of 3 times, and 2 + 1 + 1


def test_a_guard_holds_for_a_child_that_is_not_said(tmp_path):
    (tmp_path / "topics.tsv").write_text(
        'words\tprogram\tsort\nlunch\t"lunch"\tfood\ntaxes\t"taxes"\tmoney\n', encoding="utf-8"
    )
    text = (
        "NP := 'mail' ('about' t:\"topics.tsv\")? -> @com.example.mail.inbox() "
        "filter subject =~ t if t.sort == 'food';\n"
    )
    assert {words for words, _ in pairs_of(text, tmp_path)} == {"mail", "mail about lunch"}
