"""The layers of the package: data goes one way, and a module imports only what comes before it."""

import ast
import re
from functools import cache
from pathlib import Path

import genie_dp
from genie_dp.languages import language_names
from genie_dp.languages.units import SHIPPED
from genie_dp.values.calendar import MONTHS, WEEKDAYS
from genie_dp.values.spelling import NUMBER_WORDS

ROOT = Path(genie_dp.__file__).parent

# A module may import modules of a lower number, and those of its own folder.
LAYERS = {
    "__init__": 0,
    "errors": 0,
    "check": 0,
    "rng": 0,
    "resources": 0,
    "records": 0,
    "texts": 0.4,
    "run": 0.5,
    "located": 0.45,
    "stage": 0.55,
    "rows": 0.6,
    # The words of a language.
    "locale": 0.5,
    "recipe": 0.5,
    "languages": 1,
    # Asks a language for the functions of a row.
    "private_prior": 1.2,
    # Numbers, units, money and dates in sentences, by the words of a language.
    "values": 1.3,
    # Search asks a language which tokens may follow.
    "models": 1.5,
    "skills": 2,
    # Reads words as skills do.
    "english": 2.2,
    # Templates read words as skills do; no skill knows of templates.
    "templates": 2.5,
    # A leaf (LEAVES): it writes what others read.
    "importers": 2.8,
    "synthesis": 3,
    "paraphrase": 4,
    "augment": 5,
    "private": 5,
    "dataset": 6,
    "parser": 7,
    "evaluate": 8,
    "serve": 8,
    "api": 9,
    "project_file": 9.4,
    "project": 9.5,
    "watch": 9.6,
    "cli": 10,
    "launch": 11,
}
# Only these may import what trains.
HEAVY = {"torch", "transformers", "opacus", "dp_accounting", "safetensors"}
HEAVY_HOMES = {"models", "parser", "private"}
# Others may do so inside functions.
LATE = {"cli", "paraphrase"}


def test_one_module_reads_yaml():
    users = [
        path.name
        for path in modules()
        if re.search(r"^\s*(import|from) yaml\b", path.read_text(), re.M)
    ]
    assert users == ["located.py"]


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def part(path):
    """Return the folder or file of the first level that a module belongs to."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports(path, *, top_level_only=False):
    """Yield (line, full name) of every import; of top-level ones only, if so asked."""
    tree = tree_of(path)
    for node in _top_level(tree) if top_level_only else ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, name.name) for name in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                yield from ((node.lineno, f"{module}.{name.name}") for name in names)
            case ast.ImportFrom():
                yield node.lineno, "." * node.level


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _top_level(tree):
    for node in tree.body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from ast.walk(node)


def imported_part(name):
    words = name.split(".")
    return words[1] if words[1] in LAYERS else "__init__"


def faults(paths):
    """Return what breaks the layers, and how many imports of the package were looked at."""
    found, seen = [], 0
    for path in paths:
        here = part(path)
        if here == "__init__":  # names the API for type checkers, and imports none of it
            continue
        for line, name in imports(path):
            if name.startswith("."):
                found.append(f"{path}:{line}: relative import")
            if not name.startswith("genie_dp."):
                continue
            seen += 1
            there = imported_part(name)
            if there != here and LAYERS[there] >= LAYERS[here] and there != "__init__":
                found.append(f"{path}:{line}: {here} [{LAYERS[here]}] imports {there} of {name}")
    return found, seen


def test_every_module_belongs_to_a_layer():
    unknown = {part(path) for path in modules()} - set(LAYERS)
    assert not unknown


def test_modules_import_only_from_earlier_layers():
    found, seen = faults(modules())
    assert not found, "\n".join(found)
    assert len(modules()) >= 40
    assert seen >= 100


def test_the_check_of_layers_finds_a_wrong_import(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    wrong = tmp_path / "skills" / "x.py"
    wrong.parent.mkdir()
    wrong.write_text("def f():\n    from genie_dp.synthesis import plan\n")
    found, _ = faults([wrong])
    assert [row.rpartition(": ")[2] for row in found] == [
        "skills [2] imports synthesis of genie_dp.synthesis.plan"
    ]


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("genie_dp", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def circles(paths):
    """Return the groups of modules that import each other, directly or by way of others."""
    names = {module_name(path): path for path in paths}
    edges = {}
    for name, path in names.items():
        edges[name] = set()
        for _, there in imports(path) if name != "genie_dp" else ():
            while there and there not in names:
                there = there.rpartition(".")[0]
            edges[name] |= {there} - {"", name}
    reached = {name: reachable(name, edges) for name in edges}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in edges
        if name in reached[name]
    }
    return sorted(sorted(group) for group in groups)


def reachable(name, edges):
    found, waiting = set(), [name]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def test_modules_do_not_import_each_other_in_a_circle():
    """Imports inside of functions and those for type checkers alone count, too.

    Only those of genie_dp/__init__.py do not: type checkers need the names of the API there.
    """
    found = circles(modules())
    assert not found, "\n".join(" - ".join(group) for group in found)


def test_the_check_of_circles_names_the_modules_of_each(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    texts = {
        "a/__init__.py": "",
        "a/b.py": "from genie_dp.a import c, e\n",
        "a/c.py": "def f():\n    import genie_dp.d\n",
        "d.py": "if TYPE_CHECKING:\n    from genie_dp.a.b import X\n",
        "a/e.py": "from genie_dp import d\n",
        "f.py": "import genie_dp.a.e\nimport genie_dp.f\n",
        "g.py": "from genie_dp.a import x\n",
    }
    (tmp_path / "a").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = circles(tmp_path / name for name in texts)
    assert found == [["genie_dp.a.b", "genie_dp.a.c", "genie_dp.a.e", "genie_dp.d"]]


def test_augment_and_private_do_not_know_each_other():
    pairs = {("augment", "private"), ("private", "augment")}
    found = [
        f"{path}:{line}"
        for path in modules()
        for line, name in imports(path)
        if name.startswith("genie_dp.") and (part(path), imported_part(name)) in pairs
    ]
    assert not found


# Only the command line and the Python API may import these.
LEAVES = {"importers"}


def test_nothing_but_the_doors_imports_a_leaf():
    found = [
        f"{path}:{line}: {name}"
        for path in modules()
        if part(path) not in LEAVES | {"api", "cli", "__init__"}
        for line, name in imports(path)
        if name.startswith("genie_dp.") and imported_part(name) in LEAVES
    ]
    assert not found


def test_heavy_libraries_are_imported_only_where_models_live():
    found = [
        f"{path}:{line}: {name}"
        for path in modules()
        if part(path) not in HEAVY_HOMES
        for line, name in imports(path, top_level_only=part(path) in LATE)
        if name.split(".")[0] in HEAVY
    ]
    assert not found


# The one place that names a language outside of languages/: that of rows which do not say theirs.
NAMES_DEFAULT_LANGUAGE = "records.py"
LIBRARIES = {"library", "_library", "skills", "inputs.library"}


# The names of languages that are names of fields of answers, too: `{"calls": .., "tree": ..}`.
FIELDS = {"calls"}


def field_names(tree, names):
    """Return the constants of FIELDS that are keys of JSON, and no names of languages.

    A table with a second language among its keys is another thing.
    """
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(text)) as key) if text in FIELDS:
                found.add(key)
            case ast.Dict(keys=keys) if len(keys) > 1:
                asked = [
                    key for key in keys if isinstance(key, ast.Constant) and key.value in names
                ]
                if len(asked) == 1 and asked[0].value in FIELDS:
                    found.update(asked)
    return found


def language_faults(paths, names):
    """Return where code outside of languages/ asks for a language by name, or probes a library."""
    found = []
    for path in paths:
        where = path.relative_to(ROOT).as_posix()
        if where.startswith("languages/"):
            continue
        fields = field_names(tree_of(path), names)
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Constant(value=str(text)) if text in names and node not in fields:
                    if where != NAMES_DEFAULT_LANGUAGE:
                        found.append(f"{where}:{node.lineno}: names the language {text!r}")
                case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[asked, *_]):
                    if ast.unparse(asked).removeprefix("self.") in LIBRARIES:
                        found.append(f"{where}:{node.lineno}: {ast.unparse(node)}")
                case ast.arg(arg="library", annotation=ast.Name(id="Any" | "object")):
                    found.append(f"{where}:{node.lineno}: a library without a type")
    return found


def test_no_code_outside_of_languages_asks_for_a_language_by_name():
    """A language says in languages/base.py what others have to know of it."""
    assert not language_faults(modules(), set(language_names()))


def test_the_check_of_languages_finds_each_way_to_ask(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    wrong = tmp_path / "x.py"
    wrong.write_text(
        'def f(row, library: Any):\n    hasattr(library, "a")\n    return row.language == "sexpr"\n'
    )
    assert len(language_faults([wrong], {"sexpr"})) == 3
    table = tmp_path / "y.py"
    table.write_text(
        'x = {"calls": 1, "rows": 2}["calls"]\ny = {"calls": f, "sexpr": g}.get(name)\n'
        'z = {"sexpr": 1, "rows": 2}["sexpr"]\nw = row.language == "calls"\n'
    )
    lines = [fault.split(":")[1] for fault in language_faults([table], {"calls", "sexpr"})]
    assert sorted(lines) == ["2", "2", "3", "3", "4"]


@cache
def words_in_code(path):
    """Return the words of the texts in a module, those of docstrings aside."""
    tree = tree_of(path)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, described) and node.body and isinstance(node.body[0], ast.Expr)
    }
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    )
    return {word for text in texts for word in re.findall("[a-z]+", text.lower())}


# How many words of each sort a module may have by itself, for the exceptions of which it tells.
FEW_VALUE_WORDS = {"months": 2, "weekdays": 2, "numbers": 8, "units": 19}


def value_words():
    return {
        "months": set(MONTHS),
        "weekdays": set(WEEKDAYS),
        "numbers": set(NUMBER_WORDS),
        "units": {word for unit in SHIPPED.by_name.values() for word in unit.words},
    }


def value_tables(paths):
    """Return the modules that have a table of words that locales/en.txt has."""
    sorts = value_words().items()
    found = ((path, sort, words_in_code(path) & words) for path in paths for sort, words in sorts)
    return [f"{path.name}: {sort}" for path, sort, own in found if len(own) > FEW_VALUE_WORDS[sort]]


def test_months_units_and_numbers_in_words_are_in_the_table_of_the_language_alone():
    assert not value_tables(modules())


def test_the_check_of_tables_of_values_finds_each_sort(tmp_path):
    wrong = tmp_path / "x.py"
    wrong.write_text("\n".join(f"{sort} = {words!r}" for sort, words in value_words().items()))
    assert value_tables([wrong]) == [f"x.py: {sort}" for sort in value_words()]
