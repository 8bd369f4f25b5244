"""The language server, asked over its protocol by a client library, on a library of two skills."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types

from genie_dp.augment.values import without_listed
from genie_dp.cli import run
from genie_dp.languages import get_language
from genie_dp.resources import data_folder
from genie_dp.serve.editor.bench import Bench
from genie_dp.serve.editor.sources import Sources
from genie_dp.templates.run import run as check
from tests.serve.editor_client import ROOT, EditorClient, apply

LAMP = """class @org.lamp
  #_[canonical="lamp"] {
  unit notch of glow #_[canonical=["notch", "notches"]];
  monitorable list query lamps(
    out name : String #[string_values="org.lamp:name"] #_[canonical={base=["name"]}],
    out level : Number #_[canonical={base=["brightness"], plural=["brightnesses"]}],
    out color : Enum(red,green) #_[canonical={base=["color"]}],
    out is_on : Boolean #_[canonical={adjective_true=["lit"]}])
    #_[canonical="lamp"];
  action dim(
    in req level : Number #_[canonical={base=["brightness"]}] #_[prompt="How bright?"],
    in opt color : Enum(red,green) #_[canonical={base=["color"]}],
    in opt power : Measure(notch) #_[canonical={base=["power"], adverb=["with power #"]}])
    #_[canonical="dim"];
}
"""
LAMP_TEMPLATES = """// what lamps do
NP := 'my lamps' -> @org.lamp.lamps();
NP := 'the lit lamps' -> @org.lamp.lamps() filter is_on == true;
NP := 'lamps brighter than ${x:const}' -> \\(x : Number) -> @org.lamp.lamps() filter level > x;
VP := 'dim the lamp to $x' -> \\(x : Number) -> @org.lamp.dim(level = x);
VP := 'paint the lamp $c at $x' -> \\(c : Enum(red,green), x : Number)
  -> @org.lamp.dim(level = x, color = c);
"""
# What may follow them: the class is named once, parts may be left out, types follow.
FOR = """for @org.lamp;
VP := 'light to $l' ('in $c' | 'colored ${c:const}')? ('at $p')?
  -> dim(level = $l, color = $c, power = $p);
NP := 'every lamp' ('above ${m:const}')? -> lamps() filter level > $m;
"""
NOTES = """class @org.notes #_[canonical="notes"] {
  list query notes(out text : String #[string_values="org.lamp:name"] #_[canonical={base=["text"]}])
    #_[canonical="note"];
}
"""
NOTES_TEMPLATES = """NP := 'my notes' -> @org.notes.notes();
"""
MAIN = """import "categories.genie";
COMMAND := 'show me' q:NP -> now => q => notify #[id="command.show"];
COMMAND := 'please' a:VP -> now => a;
"""
CATEGORIES = """category COMMAND : program root "whole sentences";
category NP : query "noun phrases";
category VP : action "verb phrases";
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Write a project; return its folder."""
    folder = tmp_path_factory.mktemp("project")
    files = {
        "thingpedia/org.lamp/skill.tt": LAMP,
        "thingpedia/org.lamp/templates.genie": LAMP_TEMPLATES,
        "thingpedia/org.lamp/values/name.tsv": "kitchen\nhall\n",
        "thingpedia/org.notes/skill.tt": NOTES,
        "thingpedia/org.notes/templates.genie": NOTES_TEMPLATES,
        "grammars/en/main.genie": MAIN,
        "grammars/en/categories.genie": CATEGORIES,
        "alone/alone.genie": CATEGORIES + "NP := 'dogs' -> @org.nothing.dogs();\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def editor(project, tmp_path_factory):
    env = {**os.environ, "GENIE_DP_CACHE": str(tmp_path_factory.mktemp("cache"))}
    del env["GENIE_DP_PROJECT"]  # here a genie.yaml counts
    client = EditorClient(folder=project, progress=True, env=env)
    yield client
    client.close()


@pytest.fixture
def lamp(editor, project):
    """Open the lamp's templates, as on disk; return their URI."""
    uri = editor.open(project / "thingpedia/org.lamp/templates.genie")
    editor.until(lambda: uri in editor.diagnostics)
    yield uri
    editor.change(uri, LAMP_TEMPLATES)
    editor.shut(uri)
    editor.until(lambda: not editor.all_codes())
    editor.diagnostics.clear()


@pytest.fixture
def skill(editor, project):
    """Open the lamp's skill.tt; return its URI."""
    uri = editor.open(project / "thingpedia/org.lamp/skill.tt")
    editor.until(lambda: uri in editor.diagnostics)
    yield uri
    editor.shut(uri)
    editor.until(lambda: not editor.all_codes())
    editor.diagnostics.clear()


# ------------------------------------------------------------------------------- mistakes


def test_problems_are_those_of_check(editor, lamp, project, capsys):
    bad = LAMP_TEMPLATES.replace("is_on == true", "is_on == 5").replace("'my lamps'", "'get lamps'")
    path = project / "thingpedia/org.lamp/templates.genie"
    editor.change(lamp, bad)
    editor.until(lambda: "T002" in editor.codes(lamp))
    path.write_text(bad)
    try:
        run(["check", "--skills", str(project / "thingpedia"),
             "--grammar", str(project / "grammars/en"), "--format", "json"])  # fmt: skip
    finally:
        path.write_text(LAMP_TEMPLATES)
    told = json.loads(capsys.readouterr().out)
    assert editor.all_codes() == sorted((Path(p["file"]).name, p["code"]) for p in told)
    assert {"T002", "G106"} <= {problem["code"] for problem in told}


@pytest.mark.parametrize("grammar", [(), (data_folder("grammars") / "en",)], ids=["left", "named"])
def test_what_the_shipped_grammar_lacks_is_told_as_check_tells_it(project, grammar):
    """What no skill of a project needs is told (G102, G109) where it names the grammar itself."""
    skills = (project / "thingpedia",)
    shown = Bench(Sources("thingtalk", skills, grammar), {}).check()
    told = check(get_language("thingtalk"), skills, grammar, lists=without_listed).problems
    assert {problem for problems in shown.values() for problem in problems} == set(told)
    assert bool(grammar) == ("G109" in {problem.code for problem in told})


def test_unsaved_text_is_checked_and_mended_text_is_cleared(editor, lamp):
    bad = LAMP_TEMPLATES.replace("level > x;", "levle > x;")
    editor.change(lamp, bad)
    [problem] = editor.until(lambda: [d for d in editor.diagnostics[lamp] if d.code == "T011"])
    line = bad.split("\n")[problem.range.start.line]
    assert line[problem.range.start.character : problem.range.end.character].startswith("levle")
    assert "hint: did you mean 'level'" in problem.message
    assert problem.severity == types.DiagnosticSeverity.Error
    editor.change(lamp, LAMP_TEMPLATES)
    editor.until(lambda: not editor.codes(lamp))


def test_lines_added_above_move_problems_and_columns_are_counted_as_the_editor_counts(editor, lamp):
    bad = "NP := 'my \U0001f600 lamps' -> @org.lamp.lamps() filter is_on == 5;\n"
    editor.change(lamp, LAMP_TEMPLATES + bad)
    [before] = editor.until(lambda: editor.diagnostics[lamp])
    assert before.range.start.character == bad.index("5") + 1  # two units of UTF-16
    editor.change(lamp, "\n\n" + LAMP_TEMPLATES + bad)
    editor.until(lambda: editor.diagnostics[lamp][0].range.start.line > before.range.start.line)
    [after] = editor.diagnostics[lamp]
    assert after.range.start.line == before.range.start.line + 2
    assert after.range.start.character == before.range.start.character


def test_broken_skill_leaves_problems_of_others_and_the_server(editor, lamp, skill, project):
    notes = editor.open(project / "thingpedia/org.notes/templates.genie")
    editor.change(notes, NOTES_TEMPLATES.replace("notes()", "notse()"))
    editor.until(lambda: editor.codes(notes))
    editor.change(skill, LAMP.replace("list query lamps(", "list query lamps(("))
    editor.until(lambda: editor.codes(skill))
    assert editor.codes(notes), "the mistake in the other skill is still shown"
    editor.change(skill, LAMP)
    editor.until(lambda: not editor.codes(skill))
    editor.change(notes, NOTES_TEMPLATES)
    editor.until(lambda: not editor.codes(notes))
    editor.shut(notes)


def test_change_in_a_skill_is_seen_by_its_templates(editor, lamp, skill):
    editor.change(skill, LAMP.replace("out is_on", "out is_lit"))
    [problem] = editor.until(lambda: [d for d in editor.diagnostics[lamp] if d.code == "T011"])
    assert "is_on" in problem.message
    editor.change(skill, LAMP)
    editor.until(lambda: not editor.codes(lamp))


def test_misfits_come_after_saving(editor, lamp):
    more = LAMP_TEMPLATES + "NP := q:NP 'over' v:VALUE -> q filter level > v;\n"
    editor.change(lamp, more)
    editor.save(lamp)
    [problem] = editor.until(lambda: [d for d in editor.diagnostics[lamp] if d.code == "G111"])
    editor.change(lamp, "\n" + more)
    editor.until(lambda: editor.diagnostics[lamp][0].range.start.line != problem.range.start.line)
    [moved] = editor.diagnostics[lamp]
    assert moved.range.start.line == problem.range.start.line + 1
    editor.change(lamp, LAMP_TEMPLATES)
    editor.until(lambda: not editor.codes(lamp))


def test_a_file_alone_is_a_grammar_and_one_that_nothing_imports_is_checked(editor, lamp, project):
    uri = editor.open(project / "alone/alone.genie")
    [problem] = editor.until(
        lambda: [d for d in editor.diagnostics.get(uri, ()) if d.severity == 1]
    )
    assert "org.nothing" in problem.message
    editor.shut(uri)
    editor.until(lambda: not editor.all_codes())
    uri = editor.open(project / "grammars/en/new.genie", "NP := 'x' -> @org.lamp.lamsp();\n")
    [problem] = editor.until(lambda: editor.diagnostics.get(uri))
    assert "lamsp" in problem.message
    editor.change(uri, "NP := 'x' -> @org.lamp.lamps();\n")
    editor.until(lambda: not editor.codes(uri))
    editor.shut(uri)

    # Loading is shown as progress.
    kinds = [value["kind"] if isinstance(value, dict) else value.kind for value in editor.progress]
    assert kinds[:2] == ["begin", "end"]


# ----------------------------------------------------------------------------- completion


@pytest.mark.parametrize(
    ("typed", "expected", "missing"),
    [
        ("N|", {"NP"}, {"VP", "OUTPUT"}),
        ("VP := 'dim' q:|", {"NP", "VP", "OUTPUT"}, {"import"}),
        ("VP := 'dim' |", {"n:NP", "v:VP"}, set()),
        ("VP := q:NP q.|", set(), {"NP"}),
        ("VP := q:NP[|", {"num", "gap"}, {"NP"}),
        ("VP := q:NP[num=|", {"sg", "pl"}, {"num"}),
        ("NP[|", {"num", "det"}, {"gap"}),
        ("NP := 'a' -> @|", {"@org.lamp.dim", "@org.notes"}, {"NP"}),
        ("NP := 'a' -> @org.notes.n|", {"@org.notes.notes"}, {"@org.lamp.dim"}),
        ("VP := 'a' -> @org.lamp.dim(|", {"level", "color"}, {"name"}),
        ("VP := 'a' -> @org.lamp.dim(level = 3, |", {"color"}, {"level"}),
        ("VP := 'a' -> @org.lamp.dim(color = |", {"red", "green"}, {"level"}),
        ("NP := 'a' -> @org.lamp.lamps() filter |", {"is_on", "level"}, {"NP"}),
        ("NP := 'a' -> @org.lamp.lamps() filter is_on == |", {"true", "false"}, set()),
        ("NP := '$x' -> \\(x : Number) -> @org.lamp.lamps() filter level > |", {"x"}, set()),
        ("COMMAND := q:NP -> now => q => notify if |", {"q", "not"}, set()),
        ("COMMAND := q:NP -> now => q => notify if q.|", {"is_list", "num"}, {"q"}),
        ("NP := 'a' -> @org.lamp.lamps() #[|", {"id", "weight", "training"}, {"NP"}),
        ("NP := 'a' -> @org.lamp.lamps() #[training=|", {"true", "false"}, {"id"}),
        ("category X : |", {"query", "action"}, {"NP"}),
        ("for @|", {"@org.lamp", "@org.notes"}, {"@org.lamp.dim", "NP"}),
        ("for @org.lamp;\nVP := 'a' -> |", {"dim", "lamps"}, {"notes"}),
        ("for @org.lamp;\nVP := 'a' -> dim(level = 3, |", {"color", "power"}, {"level"}),
        ("for @org.lamp;\nWP := 'a' -> monitor (|", {"lamps"}, {"level"}),
        ("for @org.lamp;\nNP := 'a' -> lamps() filter |", {"is_on"}, set()),
        ("for @org.lamp;\nVP := 'to $l' ('in ${c:const}')? -> dim(level = $|", {"$l", "$c"},
         {"color"}),
        ("NP := '$x' -> \\(x : |", {"Number", "Measure"}, {"NP", "$x"}),
        ("NP := '$x' -> \\(x : Measure(|", {"notch", "kg"}, {"Number"}),
        ("COMMAND := ('a' q:|", {"NP"}, {"import"}),
        ("NP := 'a |", set(), {"NP", "id"}),
        ("// NP|", set(), {"NP"}),
    ],
)  # fmt: skip
def test_completion_in_templates(editor, lamp, typed, expected, missing):
    for after in ("", "\nNP := 'later' -> @org.lamp.lamps();\n"):
        text = LAMP_TEMPLATES + typed.replace("|", "") + after
        editor.change(lamp, text)
        items = editor.complete(lamp, text, LAMP_TEMPLATES[-10:] + typed)
        assert expected <= items.keys()
        assert not missing & items.keys()


def test_completion_replaces_what_is_typed(editor, lamp):
    text = LAMP_TEMPLATES + "NP := 'a' -> @org.notes.n"
    editor.change(lamp, text)
    item = editor.complete(lamp, text, "-> @org.notes.n|")["@org.notes.notes"]
    line = text.split("\n")[item.text_edit.range.start.line]
    replaced = line[item.text_edit.range.start.character : item.text_edit.range.end.character]
    assert (replaced, item.text_edit.new_text) == ("@org.notes.n", "@org.notes.notes")
    assert item.detail == "list query ()"


@pytest.mark.parametrize(
    ("typed", "expected", "missing"),
    [
        ("action go(in req x : |", {"Number", "Enum", "EmailAddress"}, {"out"}),
        ("action go(in req x : Entity(|", {"tt:url"}, {"Number"}),
        ("action go(in req x : Measure(|", {"C", "KB"}, {"Number"}),
        ("action go(|", {"in req", "out"}, {"Number"}),
        ("action go(in |", {"req", "opt"}, {"in req"}),
        ("action go(in req x : Number #_[|", {"canonical", "prompt"}, {"base"}),
        ("action go(out x : Number #_[canonical={|", {"base", "property"}, {"prompt"}),
        ('action go(in req x : String #[string_values="|', {"org.lamp:name"}, set()),
        ("|", {"action", "list query", "entity", "unit"}, set()),
        ("unit lumen of |", {"glow", "mass"}, {"notch"}),
        ("unit lumen of glow = 0.5 |", {"notch", "kg"}, {"glow"}),
    ],
)  # fmt: skip
def test_completion_in_skills(editor, skill, typed, expected, missing):
    start = LAMP.rstrip().removesuffix("}")
    text = start + typed.replace("|", "")
    editor.change(skill, text)
    items = editor.complete(skill, text, start[-20:] + typed)
    assert expected <= items.keys()
    assert not missing & items.keys()
    parent = LAMP.replace("class @org.lamp\n", "class @org.lamp extends @\n")
    editor.change(skill, parent)
    assert "@org.notes" in editor.complete(skill, parent, "extends @|")


# ---------------------------------------------------------------------------------- hover


def sentences(shown):
    return [line[2:] for line in shown.split("\n") if line.startswith("- ")]


def hover_once_made(editor, lamp, mark):
    editor.until(lambda: "being made" not in editor.hover(lamp, LAMP_TEMPLATES, mark))
    return editor.hover(lamp, LAMP_TEMPLATES, mark)


def test_hover_of_a_category_or_a_function_shows_what_it_is_and_three_sentences(editor, lamp):
    shown = hover_once_made(editor, lamp, "N|P := 'my lamps'")
    assert "category NP : query" in shown
    assert "noun phrases" in shown
    assert "4 templates" in shown
    assert len(set(sentences(shown))) == 3
    mark = "'dim the lamp to $x' -> \\(x : Number) -> @org.lamp.d|im("
    shown = hover_once_made(editor, lamp, mark)
    assert "action @org.lamp.dim(in req level : Number, in opt color : Enum(red,green), " in shown
    assert "\ndim\n" in shown
    assert all("@org.lamp.dim" in line for line in shown.split("\n") if line.startswith("  `"))
    assert len(sentences(shown)) == 3


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("filter is_o|n == true", "`out is_on : Boolean` of `@org.lamp.lamps`"),
        ("filter is_o|n == true", "adjective_true: lit"),
        ("dim(lev|el = x);", "`in req level : Number` of `@org.lamp.dim`"),
        ("dim(level = |x);", "`x : Number`"),
        ("-> @org.la|mp.lamps();", "monitorable list query @org.lamp.lamps("),
        ("-> d|im(level = $l", "action @org.lamp.dim("),
        ("for @org.l|amp", "class @org.lamp"),
        ("dim(level = $|l", "`l : Number`"),
        ("dim(level = $|l", "`in req level : Number` of `@org.lamp.dim`"),
        ("'light to $|l'", "`l : Number`"),
        ("('at $|p')", "`p : Measure(notch)`"),
        ("above ${|m:const}", "`out level : Number` of `@org.lamp.lamps`"),
        ("dim(level = $l, co|lor = $c", "`in opt color"),
    ],
)
def test_hover_in_templates(editor, lamp, mark, expected):
    editor.change(lamp, LAMP_TEMPLATES + FOR)
    assert expected in editor.hover(lamp, LAMP_TEMPLATES + FOR, mark)


def test_hover_of_a_child_shows_its_category(editor, lamp, project):
    uri = editor.open(project / "grammars/en/main.genie")
    assert "category NP" in editor.hover(uri, MAIN, "now => |q => notify #")
    assert "category VP" in editor.hover(uri, MAIN, "'please' a:V|P")
    assert editor.hover(uri, MAIN, "'show| me'") is None
    editor.shut(uri)


def test_hover_in_a_skill(editor, skill):
    assert "of `@org.lamp.dim`" in editor.hover(skill, LAMP, "in req lev|el : Number")
    assert "action @org.lamp.dim(" in editor.hover(skill, LAMP, "action di|m(")
    for mark in ("unit not|ch of glow", "Measure(not|ch)"):
        assert "`unit notch of glow`" in editor.hover(skill, LAMP, mark)
        assert editor.definition(skill, LAMP, mark) == [("skill.tt", 3)]


# ------------------------------------------------------------- definitions, uses, renaming


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("N|P := 'my lamps'", [("categories.genie", 2)]),
        ("'my lamps' -> @org.lamp.lam|ps()", [("skill.tt", 4)]),
        ("filter is_o|n == true", [("skill.tt", 8)]),
        ("dim(lev|el = x);", [("skill.tt", 11)]),
        ("-> d|im(level = $l", [("skill.tt", 10)]),
        ("for @org.l|amp", [("skill.tt", 1)]),
        ("dim(level = $|l", [("templates.genie", 9)]),
        ("'light to $|l'", [("skill.tt", 11)]),
        ("above ${|m:const}", [("skill.tt", 6)]),
    ],
)
def test_definition_in_templates(editor, lamp, mark, expected):
    editor.change(lamp, LAMP_TEMPLATES + FOR)
    assert editor.definition(lamp, LAMP_TEMPLATES + FOR, mark) == expected


def test_definition_of_an_import_and_of_a_declaration(editor, lamp, project):
    main = editor.open(project / "grammars/en/main.genie")
    categories = editor.open(project / "grammars/en/categories.genie")
    editor.until(lambda: main in editor.diagnostics and categories in editor.diagnostics)
    assert editor.definition(main, MAIN, 'import "cat|egories') == [("categories.genie", 1)]
    templates = editor.definition(categories, CATEGORIES, "category V|P")
    assert templates == [("templates.genie", 5), ("templates.genie", 6)]
    editor.shut(main)
    editor.shut(categories)


def test_references_of_a_category_and_of_a_function(editor, lamp):
    found = editor.references(lamp, LAMP_TEMPLATES, "V|P := 'dim")
    assert sorted(found) == [
        ("categories.genie", 3), ("main.genie", 3), ("templates.genie", 5), ("templates.genie", 6),
    ]  # fmt: skip
    found = editor.references(lamp, LAMP_TEMPLATES, "'my lamps' -> @org.lamp.lam|ps()")
    assert found == [("templates.genie", line) for line in (2, 3, 4)]
    editor.change(lamp, LAMP_TEMPLATES + FOR)
    found = editor.references(lamp, LAMP_TEMPLATES + FOR, "for @org.lamp;\nVP|")
    assert [line for name, line in found if name == "templates.genie"] == [5, 6, 9]
    found = editor.references(lamp, LAMP_TEMPLATES + FOR, "-> @org.lamp.lam|ps();")
    assert found == [("templates.genie", line) for line in (2, 3, 4, 11)]


def test_renaming_a_category_changes_all_files_and_no_words(editor, lamp, project):
    broken = LAMP_TEMPLATES + FOR + "NP := 'NP' ('NP' q:NP)? -> q // NP\nNP := 'x' ->;\n"
    editor.change(lamp, broken)
    edit = editor.rename(lamp, broken, "N|P := 'my lamps'", "THING")
    assert apply(edit, lamp, broken) == broken.replace("NP :=", "THING :=").replace(
        "q:NP", "q:THING"
    )
    grammar = project / "grammars/en"
    main, categories = (grammar / name for name in ("main.genie", "categories.genie"))
    assert "q:THING ->" in apply(edit, main.as_uri(), MAIN)
    assert "category THING : query" in apply(edit, categories.as_uri(), CATEGORIES)
    assert len(edit.changes) == 4


def test_only_categories_can_be_renamed_and_only_to_a_name_that_is_free(editor, lamp):
    for mark, name, reason in (
        ("N|P := 'my lamps'", "VP", "there is a category 'VP' already"),
        ("N|P := 'my lamps'", "a b", "'a b' is no name"),
        ("-> @org.lamp.lam|ps();", "x", "only categories can be renamed"),
    ):
        assert reason in editor.rename(lamp, LAMP_TEMPLATES, mark, name).refused
    offered = editor.prepare_rename(lamp, LAMP_TEMPLATES, "N|P := 'my lamps'")
    assert (offered.start.character, offered.end.character) == (0, 2)
    assert editor.prepare_rename(lamp, LAMP_TEMPLATES, "'my la|mps'") is None


def test_layout_is_that_of_the_format_command(editor, lamp, tmp_path):
    text = "for @org.lamp ;\nNP:='my   lamps' ('that are lit')?->lamps( ) ;  \n\n\n\n// end\n"
    path = tmp_path / "templates.genie"
    path.write_text(LAMP_TEMPLATES + text)
    run(["grammar", "format", str(path)])
    editor.change(lamp, LAMP_TEMPLATES + text)
    [edit] = editor.format(lamp)
    assert edit.new_text == path.read_text() != LAMP_TEMPLATES + text
    editor.change(lamp, edit.new_text)
    assert editor.format(lamp) == []
    editor.change(lamp, LAMP_TEMPLATES + "NP := 'x' ->;\n")
    assert editor.format(lamp) == [], "what has mistakes stays as it is"


# ---------------------------------------------------------------------------- other places


def test_project_file_says_where_a_document_belongs(tmp_path, editor):
    (tmp_path / "skills/org.lamp").mkdir(parents=True)
    (tmp_path / "skills/org.lamp/skill.tt").write_text(LAMP)
    for folder in ("rules", "grammars/en"):  # the second is taken where nothing names another
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "main.genie").write_text(CATEGORIES + MAIN.partition("\n")[2])
    (tmp_path / "genie.yaml").write_text(
        "skills: [skills]\ngrammar: rules\nstages:\n  pairs: {synthesize: {size: 5}}\n"
    )
    text = "NP := 'my lamps' -> @org.lamp.lamps();\n"
    uri = editor.open(tmp_path / "skills/org.lamp/templates.genie", text)
    main = editor.open(tmp_path / "rules/main.genie")
    editor.until(lambda: uri in editor.diagnostics and main in editor.diagnostics)
    found = editor.rename(uri, text, "N|P := 'my lamps'", "THING")
    assert found.changes.keys() == {uri, main}
    (tmp_path / "genie.yaml").write_text("skills: [skills, 5]\nstages: {}\n")
    editor.changed_on_disk(tmp_path / "genie.yaml")
    project = (tmp_path / "genie.yaml").as_uri()
    editor.until(lambda: editor.codes(project))
    assert set(editor.codes(project)) == {"R051"}
    editor.shut(uri)
    editor.shut(main)
    editor.until(lambda: not editor.all_codes())


def test_editor_never_runs_python_of_a_grammar(tmp_path, editor):
    (tmp_path / "pizza.sexpr").write_text("set BASKET;\n")
    (tmp_path / "functions.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\n\n\ndef twice(x):\n    return x\n"
    )
    text = (
        'category ORDER : program root "orders";\nusing "functions.py";\n'
        "ORDER := 'a' -> (BASKET a);\nORDER := 'two' o:ORDER -> python.twice(o);\n"
        "ORDER := 'three' o:ORDER -> python.thrice(o);\n"
    )
    (tmp_path / "main.genie").write_text(text)
    uri = editor.open(tmp_path / "main.genie")
    editor.until(lambda: editor.codes(uri))
    assert editor.codes(uri) == ["G024"]
    assert "thrice" in editor.diagnostics[uri][0].message
    mended = text.replace("thrice", "twice")
    editor.change(uri, mended)
    editor.save(uri)
    editor.until(lambda: "being made" not in editor.hover(uri, mended, "OR|DER := 'a'"))
    assert not (tmp_path / "ran").exists()
    editor.shut(uri)


@pytest.mark.slow
def test_missing_library_is_told_with_its_extra(tmp_path):
    hide = (
        "import sys; sys.modules['pygls'] = None; from genie_dp.cli import main; "
        "main(['grammar', 'editor'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", hide], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    assert "error[R071]: this needs pygls, which is not installed" in done.stderr
    assert "pip install 'genie_dp[editor]'" in done.stderr
