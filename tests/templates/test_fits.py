"""Children that make no well-typed program: `check` tells of them, synthesis leaves them out."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.skills.load import load_library
from genie_dp.synthesis import trials
from genie_dp.synthesis.compiler import compile_grammar
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.trials import misfits
from genie_dp.templates.check import check_grammar
from genie_dp.templates.grammar import Grammar
from genie_dp.templates.load import load_grammar, read_grammar
from tests.golden import DATA, Case, cases
from tests.synthesis.synthesis_setup import text_of
from tests.templates.template_files import described, write_case

SKILLS = DATA / "fits" / "skills"
THINGTALK, SEXPR = cases("fits/thingtalk.txt"), cases("fits/sexpr.txt")
CATEGORIES = """\
category COMMAND : program root "commands";
category NP : query "noun phrases";
category VP : action "verb phrases";
category WP : stream "when phrases";
category PRED : predicate "conditions";
category SOURCE : source "outputs";
"""
THINGS = read_declarations(
    "node BRING = (CUP); node CUP = BIG | SMALL; node PLATE = ; program (BRING);"
)


@cache
def library() -> Any:
    return load_library([SKILLS])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found_in(case: Case, folder: Path) -> tuple[Grammar, list[Problem]]:
    """Write a case beside the skills' templates; return its grammar, and what is wrong with it."""
    language, words = get_language("thingtalk"), CATEGORIES
    declared: Any = library()
    if case.path.name == "sexpr.txt":
        language, words, declared = get_language("sexpr"), "", THINGS
    files = write_case(f"{case.input}\n%% base.genie\n{words}", folder)
    if words:
        for skill in declared.skills:
            name = folder / f"{skill.name.removeprefix('com.example.')}.genie"
            name.write_text(skill.templates.read_text())
            files.append(Path(name.name))
    grammar, problems = read_grammar(files, language)
    problems += check_grammar(grammar, language, declared)
    if not any(problem.severity == "error" for problem in problems):
        problems += misfits(grammar, language, declared)
    # Of what the grammar of a case has no use for.
    return grammar, [p for p in problems if p.code not in ("G101", "G102", "G105", "G108")]


@pytest.mark.slow
@pytest.mark.parametrize("case", [*THINGTALK, *SEXPR], ids=str)
def test_what_never_fits_is_told_and_every_sampled_program_is_well_typed(case, golden, here):
    grammar, problems = found_in(case, here)
    golden(case, described(problems))
    if not any(problem.severity == "error" for problem in problems):
        declared: Any = library() if case.path.name == "thingtalk.txt" else THINGS
        language = get_language(case.path.stem)
        rows = list(sampled(grammar, language, declared, size=1500))
        assert rows or any(problem.code == "G110" for problem in problems)


def sampled(
    grammar: Grammar, language: Any, declared: Any, **wanted: Any
) -> Iterator[dict[str, Any]]:
    """Yield rows of a grammar; each is checked as it comes."""
    config = SynthesisConfig(**{"max_depth": 3, "pool_size": 300, **wanted})
    engine = build_engine(compile_grammar(grammar, language, declared, config), config)
    for line in text_of(engine).splitlines():
        row = json.loads(line)
        program = language.from_tokens(row["program"])
        assert not language.check(program, declared), row
        yield row


def test_every_code_has_a_case():
    documented = set(re.findall(r"[GY]\d\d\d", trials.__doc__ or ""))
    shown = set(re.findall(r"\[([GY]\d\d\d)\]", "\n".join(c.expected for c in THINGTALK)))
    assert documented <= shown
    types = set(re.findall(r"\bT\d\d\d\b", "\n".join(c.expected for c in THINGTALK)))
    assert types >= {f"T{n:03}" for n in (2, 9, 10, 11, 12, 14, 15, 16, 17, 18, 21, 25, 29)}


FRAGMENTS = [
    line
    for case in THINGTALK
    for line in case.input.split("%% ")[0].splitlines()
    if re.match(r"(COMMAND|NP|VP|WP|PRED|SOURCE) :=", line) and "tsv" not in line
    and "python" not in line
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(st.sampled_from(FRAGMENTS), min_size=3, max_size=9, unique=True))
def test_whatever_templates_stand_together_their_programs_are_well_typed(tmp_path, lines):
    language, main = get_language("thingtalk"), tmp_path / "main.genie"

    def grammar_of(lines: list[str]) -> tuple[Grammar, list[Problem]]:
        main.write_text(CATEGORIES + "\n".join(lines), encoding="utf-8")
        return read_grammar([main, *(s.templates for s in library().skills)], language)

    def compiles(line: str) -> bool:
        grammar, problems = grammar_of([line])
        problems += check_grammar(grammar, language, library())
        return not any(p.severity == "error" for p in problems)

    start = "COMMAND := 'get' q:NP -> now => q => notify;"
    lines = [start, *(line for line in lines if compiles(line) and line != start)]
    for _ in sampled(grammar_of(lines)[0], language, library(), size=300, pool_size=60):
        pass


UNGUARDED = """\
COMMAND := 'get' q:NP -> now => q => notify;
COMMAND := 'tell' s:WP -> s => notify;
WP := 'when' q:NP 'changes' -> monitor q #[id="when"];
PRED := 'xx' p:OUTPUT[pos=base] v:VALUE -> p > v #[id="over"];
NP := q:NP 'that' p:PRED -> q filter p if p.function == q.function;
"""


def inputs_of(folder: Path, text: str) -> list[str]:
    (folder / "main.genie").write_text(CATEGORIES + text)
    return ["--skills", str(SKILLS), "--grammar", "main.genie"]


def test_synthesize_says_what_it_left_out_in_the_first_run_and_with_leaves_kept(here, capsys):
    words = ["synthesize", *inputs_of(here, UNGUARDED), "--size", "40", "--output", "a.jsonl"]
    for _ in range(2):
        assert run([*words, "--overwrite", "--report", "report"]) == 0
        told = capsys.readouterr().err
        assert "derivations left out since their program would be ill-typed" in told
        assert "main.genie:10:44: over: 128 x T012" in told
        refused = json.loads(Path("a.jsonl.manifest.json").read_text())["refused"]
        assert refused["over: T012"] > 100 < refused["over: T002"]
        shown = json.loads(Path("report/report.json").read_text())["refused"]
        assert {"template": "over", "place": "main.genie:10:44", "code": "T012",
                "times": refused["over: T012"]} in shown  # fmt: skip
        assert "over" in Path("report/report.html").read_text()


def test_draws_of_the_root_that_are_refused_are_counted_whatever_the_jobs(here):
    text = "COMMAND := 'tell me when' q:NP 'changes' -> monitor q => notify #[id=\"tell\"];"
    counts = []
    for jobs in ("1", "2"):
        words = ["synthesize", *inputs_of(here, text), "--jobs", jobs, "--output", f"{jobs}.jsonl"]
        assert run(words) == 0
        counts.append(json.loads(Path(f"{jobs}.jsonl.manifest.json").read_text())["refused"])
    assert counts[0] == counts[1]
    assert counts[0]["tell: T014"] >= 1


def test_a_python_function_may_return_what_is_ill_typed_where_that_is_skipped(here, capsys):
    Path("functions.py").write_text(
        "from genie_dp.languages import get_language\n"
        "def changed(query):\n"
        "    return f\"monitor ({get_language('thingtalk').render(query)}) => notify\"\n"
    )
    text = 'using "functions.py";\nCOMMAND := \'tell of\' q:NP -> python.changed(q) #[id="tell"];'
    words = ["synthesize", *inputs_of(here, text), "--output", "a.jsonl"]
    assert run(words) == 1
    assert "returned an ill-typed program: T014" in capsys.readouterr().err
    assert run([*words, "--overwrite", "--on-error", "skip"]) == 0
    assert "x ill-typed" in capsys.readouterr().err


def test_a_guard_that_says_what_fits_leaves_nothing_to_tell(here):
    text = UNGUARDED.replace("monitor q #", "monitor q if q.is_monitorable #")
    text = text.replace("p > v #", "p > v if p.type == v.type and p.is_ordered #")
    assert run(["check", *inputs_of(here, text)]) == 0
    grammar = load_grammar(
        [here / "main.genie", *(s.templates for s in library().skills)], get_language("thingtalk")
    )
    assert misfits(grammar, get_language("thingtalk"), library()) == []


def test_a_body_that_cannot_be_compiled_is_told_as_an_error(here):
    (here / "main.genie").write_text(CATEGORIES + "COMMAND := 'x' q:NP -> now => @a.b() => notify;")
    grammar, _ = read_grammar([here / "main.genie"], get_language("thingtalk"))
    [problem] = misfits(grammar, get_language("thingtalk"), library())
    assert problem.severity == "error"
    with pytest.raises(GenieError):
        compile_grammar(grammar, get_language("thingtalk"), library(), SynthesisConfig())
