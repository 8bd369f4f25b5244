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

SKILL = """class @org.{name} #_[canonical="{name}"] {{
  entity thing #_[canonical="thing"];
  unit {name}ful of {name}space #_[canonical=["{name}ful", "{name}fuls"]];
  monitorable list query things(
    out thing : Entity(org.{name}:thing) #[unique=true] #_[canonical={{base=["thing"]}}],
    out size : Number #_[canonical={{base=["size"], property=["size #"]}}],
    out room : Measure({name}ful) #_[canonical={{base=["room"]}}],
    out is_new : Boolean #_[canonical={{adjective_true=["new"]}}])
    #_[canonical="{name} thing"];
  action take(in req thing : Entity(org.{name}:thing) #_[canonical={{base=["thing"]}}],
    in opt much : Measure(boxful) #_[canonical={{base=["amount"]}}])
    #_[canonical="take"];
}}
"""
TEMPLATES = """// {name}
NP := 'my {name} things' -> @org.{name}.things();
NP := 'new {name} things' -> @org.{name}.things() filter is_new == true;
NP := '{name} things of size ${{x:const}}'
  -> \\(x : Number) -> @org.{name}.things() filter size == x;
for @org.{name};
VP := ('take' | 'get') 'the {name} thing $x' ('as much as ${{y:const}}')?
  -> take(thing = $x, much = $y);
NP := '{name} things' ('of size ${{s:const}}')? ('with room for ${{r:const}}' | 'with $r')?
  -> things() filter size == $s && room >= $r;
WP := 'when there are {name} things' -> monitor (things()) #[weight=0.5];
"""
MAIN = """import "categories.genie";
COMMAND := 'show' q:NP ('twice' | 'again')? -> now => q => notify #[id="show"];
COMMAND := 'please' a:VP -> now => a;
COMMAND := w:WP ',' a:VP -> w => a;
COMMAND := a:VP[gap=o:SOURCE] -> now => o => a(o) if a.gap == o.key;
SOURCE := 'the' o:OUTPUT[pos=base] 'of' q:NP -> q.o if o.function == q.function;
NP := q:NP 'that are' p:OUTPUT[pos=adjective_true] -> q filter p == true
  if p.function == q.function;
NP := 'the first' q:NP[gap='it'] -> q;
"""
CATEGORIES = """category COMMAND : program root "whole sentences";
category NP : query "noun phrases";
category VP : action "verb phrases";
category WP : stream "when phrases";
category SOURCE : source "outputs";
"""
SENTENCES = """utterance\tprogram
show the {name} things\tnow => @org.{name}.things() => notify;
show big {name} things\tnow => @org.{name}.things() filter room >= 5{name}ful => notify;
"""


@pytest.fixture
def texts(tmp_path):
    """Write a library of two skills and a grammar; return path -> text, to be edited."""
    files = {"grammars/en/main.genie": MAIN, "grammars/en/categories.genie": CATEGORIES}
    for name in ("lamp", "box"):
        files[f"skills/org.{name}/skill.tt"] = SKILL.format(name=name)
        files[f"skills/org.{name}/templates.genie"] = TEMPLATES.format(name=name)
        files[f"skills/org.{name}/values/thing.tsv"] = "one\ntwo\n"
        files[f"skills/org.{name}/eval.tsv"] = SENTENCES.format(name=name)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return {str(tmp_path / name): text for name, text in files.items()}


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_kept_checker_finds_what_a_new_one_does(texts, tmp_path, seed):
    rng, original = random.Random(seed), dict(texts)
    kept = checker(tmp_path, texts)
    found = set()
    for _ in range(25):
        if rng.random() < 0.5:  # what is mended has to be seen as well
            texts.update(original)
        name = rng.choice(sorted(texts))
        texts[name] = edit(texts[name], rng)
        problems = kept.run().problems
        assert problems == checker(tmp_path, texts).run().problems
        found.update(problem.code for problem in problems)
    assert len(found) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_for_the_next_process_changes_no_answer(texts, tmp_path, monkeypatch, seed):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_SMALLEST", 0)
    language = get_language("thingtalk")
    paths = [tmp_path / "skills"], [tmp_path / "grammars" / "en"]
    rng, original = random.Random(seed), dict(texts)
    found, known = set(), 0
    for number in range(14):
        if rng.random() < 0.5:
            texts.update(original)
        if number:
            name = rng.choice(sorted(texts))
            texts[name] = edit(texts[name], rng)
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
    before = kept.run()
    lamp, box = (str(tmp_path / f"skills/org.{n}/templates.genie") for n in ("lamp", "box"))
    texts[lamp] = texts[lamp].replace("'my lamp things'", "'my lamps'")
    after = kept.run()
    assert before.inputs.library.classes is after.inputs.library.classes
    pairs = list(zip(before.inputs.grammar.templates, after.inputs.grammar.templates, strict=True))
    changed = [new for old, new in pairs if old is not new]
    assert [template.span.line for template in changed] == [2]
    assert sum(template.span.file == box for _, template in pairs) == 6


def test_a_class_that_did_not_change_is_not_linked_again(texts, tmp_path):
    reader = FolderReader(lambda path, code: texts[str(path)])
    before = load_library(tmp_path / "skills", reader=reader)
    skill = str(tmp_path / "skills/org.lamp/skill.tt")
    texts[skill] = texts[skill].replace('"size"', '"extent"')
    after = load_library(tmp_path / "skills", reader=reader)
    assert before.classes["org.box"] is after.classes["org.box"]
    assert before.classes["org.lamp"] is not after.classes["org.lamp"]


def test_statements_that_moved_are_read_as_if_anew():
    parser = FileParser()
    text = TEMPLATES.format(name="lamp")
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


def test_a_file_that_cannot_be_read_is_read_once_it_can(tmp_path):
    folder = tmp_path / "org.lamp"
    folder.mkdir()
    (folder / "skill.tt").write_bytes(b"class \xff")
    reader = FolderReader(read_source)
    assert load_library(tmp_path, skip_broken=True, reader=reader).skipped
    (folder / "skill.tt").write_text(SKILL.format(name="lamp").replace("boxful", "lampful"))
    assert not load_library(tmp_path, skip_broken=True, reader=reader).skipped


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
