"""A checker that is kept finds what a new one does, whatever is edited in between."""

import random
import re
import shutil
from pathlib import Path

import pytest

from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.resources import data_folder
from genie_dp.run import cache
from genie_dp.skills import check
from genie_dp.skills.load import FolderReader, load_library
from genie_dp.synthesis import trials
from genie_dp.synthesis.trials import KnownTrials, misfits
from genie_dp.templates.cache import load_inputs
from genie_dp.templates.run import Checker
from genie_dp.templates.syntax import FileParser, parse_file
from genie_dp.texts import read_source
from tests.golden import DATA
from tests.skills.skill_files import write_library

LIBRARY = (DATA / "checker" / "library.txt").read_text(encoding="utf-8")
GRAMMAR, SKILL = LIBRARY.split(">> skills", 1)


@pytest.fixture
def texts(tmp_path):
    """Write a library of two skills and a grammar; return path -> text, to be edited."""
    write_library(tmp_path, GRAMMAR)
    for name in ("lamp", "box"):
        write_library(tmp_path, f">> skills{SKILL}".replace("NAME", name))
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    return {str(path): path.read_text() for path in files}


def checker(tmp_path, texts):
    def read(path, *, code):
        if str(path) not in texts:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return texts[str(path)]

    folders = ([tmp_path / "skills"], [tmp_path / "grammars" / "en"])
    return Checker(get_language("thingtalk"), *folders, read=read)


WORDS = ("NP", "VP", "size", "things", "true", "lamp", "box", "for", "unit", "boxful", ";", ")?")


def edit(text, rng):
    """Return a text after a small edit at a random place."""
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    words = re.findall(r"[\w@.$]+", lines[number]) or ["x"]
    match rng.randrange(7):
        case 0:
            lines.insert(number, "")
        case 1:
            del lines[number]
        case 2:
            lines.insert(number, lines[rng.randrange(len(lines))])
        case 3:
            lines[number] = lines[number].replace(rng.choice(words), rng.choice(words), 1)
        case 4:
            lines[number] = "  " + lines[number]
        case 5:
            word = rng.choice([word for word in WORDS if word in lines[number]] or ["x"])
            lines[number] = lines[number].replace(word, rng.choice((*WORDS, "x", "")), 1)
        case _:
            place = rng.randrange(len(lines[number]) + 1)
            lines[number] = lines[number][:place] + rng.choice("z;'( ") + lines[number][place:]
    return "\n".join(lines)


def edits(texts, seed, number):
    rng, original = random.Random(seed), dict(texts)
    for _ in range(number):
        if rng.random() < 0.5:  # what is mended has to be seen as well
            texts.update(original)
        name = rng.choice(sorted(texts))
        texts[name] = edit(texts[name], rng)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_kept_checker_finds_what_a_new_one_does(texts, tmp_path, seed):
    kept, found = checker(tmp_path, texts), set()
    for _ in edits(texts, seed, 25):
        problems = kept.run().problems
        assert problems == checker(tmp_path, texts).run().problems
        found.update(problem.code for problem in problems)
    assert len(found) >= 4


@pytest.mark.slow
def test_what_is_kept_for_the_next_process_changes_no_answer(texts, tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_SMALLEST", 0)
    language = get_language("thingtalk")
    paths = [tmp_path / "skills"], [tmp_path / "grammars" / "en"]
    found, known = set(), 0
    for _ in edits(texts, 1, 14):
        for name, text in texts.items():
            Path(name).write_text(text)
        recalled = Checker.recall(language, *paths)
        tried = KnownTrials(recalled.place.with_suffix(".tried"))
        known += bool(tried._known.used)
        problems = recalled.run(trial=tried.misfits).problems
        recalled.keep()
        assert problems == Checker(language, *paths).run(trial=misfits).problems
        found.update(problem.code for problem in problems)
    assert known >= 8
    assert len(found) >= 4


@pytest.mark.slow
def test_a_command_that_named_the_files_otherwise_changes_no_answer(texts, tmp_path, monkeypatch):
    """What the shipped grammar has and these skills have not is only told where it is named."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    language, skills = get_language("thingtalk"), [tmp_path / "skills"]
    skill, templates = (tmp_path / "skills/org.lamp" / n for n in ("skill.tt", "templates.genie"))
    skill.write_text(skill.read_text().replace("boxful", "lampful"))
    templates.write_text("NP := 'my lamp things' -> @org.lamp.things();\n")
    shutil.rmtree(tmp_path / "skills/org.box")
    load_inputs("thingtalk", skills)  # names the file of the shipped grammar
    fresh = Checker(language, skills).run().problems
    assert Checker.recall(language, skills).run().problems == fresh
    named = [data_folder("grammars") / "en"]
    assert len(Checker.recall(language, skills, named).run().problems) > len(fresh)


def test_only_templates_that_changed_are_tried_again(texts, tmp_path, monkeypatch):
    tried = []
    draw = trials._Trials._try_anew
    monkeypatch.setattr(
        trials._Trials,
        "_try_anew",
        lambda self, templates, *args: (
            tried.extend(t.body_text for t in templates) or draw(self, templates, *args)
        ),
    )
    kept, known = checker(tmp_path, texts), KnownTrials()
    kept.run(trial=known.misfits)
    assert len(tried) >= 22
    tried.clear()
    kept.run(trial=known.misfits)
    assert tried == []
    lamp = str(tmp_path / "skills/org.lamp/templates.genie")
    for said in ("my lamp", "new lamp"):  # other words, of the same sorts
        texts[lamp] = texts[lamp].replace(f"{said} things", f"{said} objects")
    kept.run(trial=known.misfits)
    assert tried == ["@org.lamp.things()", "@org.lamp.things() filter is_new == true"]


def test_what_did_not_change_is_the_same_object(texts, tmp_path):
    kept = checker(tmp_path, texts)
    before = kept.run().inputs
    lamp, box = (str(tmp_path / f"skills/org.{n}/templates.genie") for n in ("lamp", "box"))
    texts[lamp] = texts[lamp].replace("'my lamp things'", "'my lamps'")
    after = kept.run().inputs
    assert before.library.classes is after.library.classes
    pairs = list(zip(before.grammar.templates, after.grammar.templates, strict=True))
    changed = [new for old, new in pairs if old is not new]
    assert [template.span.line for template in changed] == [2]
    assert sum(template.span.file == box for _, template in pairs) == 6
    skill = str(tmp_path / "skills/org.lamp/skill.tt")
    texts[skill] = texts[skill].replace('"size"', '"extent"')
    linked = kept.run().inputs.library.classes
    assert before.library.classes["org.box"] is linked["org.box"]
    assert before.library.classes["org.lamp"] is not linked["org.lamp"]


def test_statements_that_moved_are_read_as_if_anew(texts, tmp_path):
    parser = FileParser()
    text = (tmp_path / "skills/org.lamp/templates.genie").read_text()
    parser.parse_file(text, file="x.genie")
    for moved in (
        "\n\n" + text,
        text.replace("NP := 'new", "// a\n\nNP := 'new"),
        "A := 'b' -> c;" + text,
    ):
        parsed, problems = parser.parse_file(moved, file="x.genie")
        fresh, fresh_problems = parse_file(moved, file="x.genie")
        assert (repr(parsed), problems) == (repr(fresh), fresh_problems)
        spans = [(t.id, t.span, t.body_span, t.utterance[0].span) for t in parsed.templates]
        assert spans == [(t.id, t.span, t.body_span, t.utterance[0].span) for t in fresh.templates]


def test_a_file_that_cannot_be_read_is_read_once_it_can(texts, tmp_path):
    skill = tmp_path / "skills/org.lamp/skill.tt"
    shutil.rmtree(tmp_path / "skills/org.box")
    skill.write_bytes(b"class \xff")
    reader = FolderReader(read_source)
    assert load_library(tmp_path / "skills", skip_broken=True, reader=reader).skipped
    skill.write_text(texts[str(skill)].replace("boxful", "lampful"))
    assert not load_library(tmp_path / "skills", skip_broken=True, reader=reader).skipped


def test_programs_of_sentences_are_read_where_what_they_call_changed(texts, tmp_path, monkeypatch):
    kept = checker(tmp_path, texts)
    kept.run()
    read = []
    monkeypatch.setattr(check, "_parse", lambda program: read.append(program) or parse(program))
    templates, skill = (
        str(tmp_path / f"skills/org.lamp/{n}") for n in ("templates.genie", "skill.tt")
    )
    texts[templates] = texts[templates].replace("'my lamp things'", "'my lamps'")
    texts[skill] = texts[skill].replace('"size"', '"extent"')
    kept.run()
    assert read == []
    texts[skill] = texts[skill].replace("in opt much", "in opt many")
    kept.run()
    assert len(read) == 2
    assert all("@org.lamp" in program for program in read)
