"""Projects of tools that are described elsewhere: what is read, guessed, left out and written."""

import json
import sys

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.languages.calls.library import read_tools
from genie_dp.skills.openapi import read_openapi
from genie_dp.templates.cold_start import cold_start
from genie_dp.templates.imports import Source, import_source, kind_of, run
from tests.golden import cases

TOOLS = [
    {"name": "lights.set", "description": "Set the lights.", "parameters": {
        "required": ["room"], "properties": {
            "room": {"type": "string", "x-entity": "room"},
            "level": {"type": "integer", "minimum": 0, "maximum": 100},
            "slow": {"type": "boolean"}}},
     "examples": [{"utterance": "Kitchen to 20", "arguments": {"room": "kitchen", "level": 20}},
                  {"utterance": "Too much", "arguments": {"room": "hall", "level": 400}}, "dim"]},
    {"name": "list_rooms", "annotations": {"readOnlyHint": True}},
]  # fmt: skip
LOOP = {"name": "loop", "inputSchema": {"$ref": "#/$defs/a", "$defs": {
    "a": {"properties": {"a": {"$ref": "#/tools/0/inputSchema/$defs/a"}}}}}}  # fmt: skip


def written(path, document):
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.mark.parametrize("case", cases("imports/templates.txt"), ids=str)
def test_templates_are_guessed_from_names_and_descriptions(case, golden):
    library = read_tools({"tools.json": case.input})
    cold = cold_start(library, {})
    templates = [line for line in cold.text.splitlines() if "COMMAND" not in line]
    starts = [i for i, line in enumerate(templates) if line.startswith(("//", "category"))]
    body = "\n".join(templates[starts[1] :]).strip() if len(starts) > 1 else ""
    left = [f"{note.path}: {note.text}" for note in cold.notes if note.sort != "guess"]
    golden(case, "\n".join([body, *left]).replace("\n\n", "\n").strip())


@pytest.mark.parametrize("case", cases("imports/openapi.txt"), ids=str)
def test_operations_are_tools(case, golden, tmp_path):
    source = Source(str(written(tmp_path / "api.yaml", case.input)))
    assert kind_of(source).name == "openapi"
    found = read_openapi(source.document())
    library = gd.load_library(tmp_path / "api.yaml")
    lines = []
    for tool in found.document["tools"]:
        read = library.tools[tool["name"]]
        lines.append(f"{read.name}{' (query)' if read.is_query else ''}: {read.description}")
        for p in read.parameters:
            home = tool["_meta"]["in"][p.name]
            must = ", required" if p.is_required else ""
            said = f" # {p.description}" if p.description else ""
            lines.append(f"  {p.name}: {p.type} ({home}{must}){said}")
        if read.result is not None:
            lines.append(f"  -> {', '.join(f.name for f in read.result.fields)}")
    lines += [f"{note.sort}: {note.path}: {note.text}" for note in found.notes]
    golden(case, "\n".join(lines))


def test_the_folder_is_a_project_that_checks_and_synthesizes(tmp_path, monkeypatch, capsys):
    source = written(tmp_path / "home.json", TOOLS)
    assert cli.run(["import", str(source), "--output", str(tmp_path / "home")]) == 0
    folder = tmp_path / "home"
    names = ["REVIEW.md", "eval.tsv", "genie.schema.json", "genie.yaml", "main.genie", "tools.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    program = 'lights.set( level= 20 room= " kitchen " ^^room )'
    assert (folder / "eval.tsv").read_text() == f"E1\tKitchen to 20\t{program}\n"
    review = (folder / "REVIEW.md").read_text()
    assert "`0.parameters.level`: said as: with a level of ${level}" in review
    assert "`0.examples.1`: the example 'Too much': 400 is out of bounds" in review
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GENIE_DP_PROJECT", raising=False)
    capsys.readouterr()
    assert cli.run(["check"]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
    assert cli.run(["run", "--list"]) == 0
    assert cli.run(["synthesize", "--size", "600", "--output", "pairs.jsonl"]) == 0
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    said = {row["utterance"] for row in rows}
    assert "set the lights in the GENERIC_ENTITY_room_0 with slow on" in said
    assert "what are the rooms" in said
    assert {f for row in rows for f in row["functions"]} == {"lights.set", "list_rooms"}


def test_what_is_written_is_read_as_the_same_tools(tmp_path):
    imported = import_source(Source(str(written(tmp_path / "home.json", TOOLS))))
    again = read_tools({"tools.json": imported.files["tools.json"]})
    assert again.tools == gd.load_library(tmp_path / "home.json").tools
    assert import_source(Source(str(tmp_path / "home.json"))).files == imported.files


def test_a_schema_that_holds_itself_is_an_error_or_left_out(tmp_path):
    source = written(tmp_path / "tools.json", {"tools": [LOOP, *TOOLS]})
    with pytest.raises(GenieError, match="Z023"):
        run(Source(str(source)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    result = run(Source(str(source), skip_broken=True), tmp_path / "out")
    assert result.imported.counts["tools"] == 2
    left = [note for note in result.imported.notes if note.sort == "left out"]
    tool, mistake = left[:2]
    assert (tool.path, tool.text) == ("tools.0", "the tool loop: its schema has a mistake")
    assert mistake.path.startswith("tools.0.inputSchema")
    assert "Z023" in mistake.text


def test_bodies_without_end_and_of_any_size_are_told(tmp_path):
    loop = {"allOf": [{"$ref": "#/components/schemas/S0"}]}
    node = {"properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    wide = {
        f"S{i}": {"allOf": [{"$ref": f"#/components/schemas/S{i - 1}"}] * 3} for i in range(1, 30)
    }
    found = {"Node": node, "S0": {"properties": {"a": {}}}, **wide, "Loop": loop | {
        "allOf": [{"$ref": "#/components/schemas/Loop"}]}}  # fmt: skip
    codes = {"Node": "Z023", "Loop": "Z023", "S29": "Z025"}
    paths = {
        f"/{name}": {"post": {"operationId": name, "requestBody": {"content": {"application/json": {
            "schema": {"$ref": f"#/components/schemas/{name}"}}}}}}
        for name in codes
    }  # fmt: skip
    document = {"openapi": "3.0.0", "paths": paths, "components": {"schemas": found}}
    source = written(tmp_path / "api.json", document)
    notes = import_source(Source(str(source), skip_broken=True)).notes
    left = [note for note in notes if note.sort == "left out"]
    assert [n.path for n in left[:3]] == [f"paths./{name}.post" for name in codes]
    assert sorted(note.text[-5:-1] for note in left[3:]) == sorted(codes.values())


def test_a_folder_that_exists_is_never_touched(tmp_path, capsys):
    source = written(tmp_path / "tools.json", TOOLS)
    assert cli.run(["import", str(source), "-o", str(tmp_path)]) == 1
    assert "R032" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.json", '{"tools": [', "R081"),
        ("a.yaml", "a: [", "R081"),
        ("a.yaml", "openapi: &a [*a]", "R081"),
        ("a.yaml", "name: x", "R080"),
        ("a.json", "3", "R080"),
        ("a.json", '{"tools": []}', "R084"),
        ("a.yaml", "openapi: 3.0.0\npaths: {}", "R084"),
    ],
)
def test_what_is_no_source_is_told(tmp_path, name, text, code):
    with pytest.raises(GenieError, match=code):
        import_source(Source(str(written(tmp_path / name, text))))


def test_a_source_that_is_not_there_is_told(tmp_path):
    with pytest.raises(GenieError, match="is no file and no command"):
        kind_of(Source(str(tmp_path / "none.json")))
    with pytest.raises(GenieError, match="is no file and no command"):
        kind_of(Source("no-such-command server.py"))
    with pytest.raises(GenieError, match="did you mean 'openapi'"):
        kind_of(Source("x"), "openapy")


def test_dates_and_numbers_of_yaml_are_those_of_json(tmp_path):
    text = "tools:\n- {name: f, parameters: {properties: {1: {default: 2020-01-02, type: string}}}}"
    found = Source(str(written(tmp_path / "a.yaml", text))).document()
    assert found["tools"][0]["parameters"]["properties"] == {
        "1": {"default": "2020-01-02", "type": "string"}
    }


def test_without_its_library_a_server_is_told_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(GenieError, match=r"R082[\s\S]*genie_dp\[mcp\]"):
        import_source(Source(f"{sys.executable} server.py"))


SERVER = """
from mcp.server import MCPServer
app = MCPServer("notes")
@app.tool()
def add_note(text: str, tags: list[str] | None = None) -> str:
    '''Add a note.'''
app.run()
"""


def test_a_server_is_asked_for_its_tools(tmp_path):
    pytest.importorskip("mcp")
    server = written(tmp_path / "server.py", SERVER)
    library = gd.load_library(f"{sys.executable} {server}")
    assert [p.name for p in library.tools["add_note"].parameters] == ["tags", "text"]
    with pytest.raises(GenieError, match="R083"):
        gd.load_library(f"{sys.executable} {tmp_path / 'none.py'}")
