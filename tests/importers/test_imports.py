"""Projects of tools that are described elsewhere: what is read, guessed, left out and written."""

import json
import sys

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.importers.openapi import tools_of
from genie_dp.importers.project import run
from genie_dp.importers.registry import import_source, kind_of
from genie_dp.importers.source import ImportSource
from genie_dp.languages.calls.tools import read_tools
from genie_dp.templates.cold_start import cold_start
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
    cold = cold_start(library)
    templates = [line for line in cold.text.splitlines() if "COMMAND" not in line]
    starts = [i for i, line in enumerate(templates) if line.startswith(("//", "category"))]
    after_head = starts[2:]  # the head is a comment of two lines
    body = "\n".join(templates[after_head[0] :]).strip() if after_head else ""
    left = [f"{note.path}: {note.text}" for note in cold.notes if note.sort != "guess"]
    golden(case, "\n".join([body, *left]).replace("\n\n", "\n").strip())


@pytest.mark.parametrize("case", cases("imports/openapi.txt"), ids=str)
def test_operations_are_tools(case, golden, tmp_path):
    source = ImportSource(str(written(tmp_path / "api.yaml", case.input)))
    assert kind_of(source).name == "openapi"
    found = tools_of(source.document())
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


def test_the_folder_of_tools_has_their_examples_and_what_is_guessed(tmp_path):
    source = written(tmp_path / "home.json", TOOLS)
    folder = tmp_path / "home"
    assert cli.run(["grammar", "import", str(source), "--output", str(folder)]) == 0
    names = ["REVIEW.md", "eval.tsv", "genie.schema.json", "genie.yaml", "main.genie", "tools.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    program = 'lights.set( level= 20 room= " kitchen " ^^room )'
    assert (folder / "eval.tsv").read_text() == f"E1\tKitchen to 20\t{program}\n"
    review = (folder / "REVIEW.md").read_text()
    assert "`lights.set.parameters.level`: said as: with a level of ${level}" in review
    assert "`lights.set.examples.1`: the example 'Too much': 400 is out of bounds" in review
    assert gd.load_library(folder / "tools.json").tools == gd.load_library(source).tools
    rows = [*gd.synthesize(folder / "tools.json", folder / "main.genie", size=600, max_depth=3)]
    assert {
        "set the lights in the GENERIC_ENTITY_room_0 with slow on",
        "what are the rooms",
    } <= {row.utterance for row in rows}
    assert {f for row in rows for f in row.functions} == {"lights.set", "list_rooms"}


def test_operations_whose_names_say_nothing_are_said_by_method_and_path(tmp_path):
    text = """openapi: 3.0.0
paths:
  /v1/todos: {get: {operationId: get}, post: {operationId: create_1}}
  /v1/todos/{id}: {get: {operationId: get}, patch: {}, delete: {operationId: deleteTodo}}
  /v1/todos/{todo_id}/tags: {get: {operationId: get_2}}
"""
    imported = import_source(ImportSource(str(written(tmp_path / "api.yaml", text))))
    said = {}
    for line in imported.files["main.genie"].splitlines():
        if line.startswith("VP := "):
            utterance, _, call = line.removeprefix("VP := ").rstrip(";").partition(" -> ")
            said.setdefault(call, utterance.replace("'", ""))
    assert said == {
        "get()": "(get | find) the todos",
        "create_1()": "(create | make) a todo",
        "get_v1_todos(id = $id)": "(get | find) the todo with the id ${id}",
        "patch_v1_todos(id = $id)": "(update | change) the todo with the id ${id}",
        "deleteTodo(id = $id)": "(delete | remove) the todo with the id ${id}",
        "get_2(todo_id = $todo_id)": "(get | find) the tags of the todo ${todo_id}",
    }


def test_a_broken_schema_leaves_its_tool_out_and_no_other(tmp_path):
    alone = written(tmp_path / "loop.json", {"tools": [LOOP]})
    with pytest.raises(GenieError, match="Z023"):
        run(ImportSource(str(alone)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    source = written(tmp_path / "tools.json", {"tools": [LOOP, *TOOLS, 3, {"name": ""}]})
    result = run(ImportSource(str(source)), tmp_path / "out")
    assert result.imported.counts["tools"] == 2
    told = [*result.lines()]
    assert "holds itself" in told[0]
    assert told[1] == "skipped: the tool loop is broken; going on without it"
    review = (tmp_path / "out" / "REVIEW.md").read_text()
    place = "`loop.inputSchema.$defs.a.properties.a.$ref`"
    assert f"{place}: the tool loop has a mistake: '#/" in review
    assert "`tools.4`: expected a tool with a name [Z022]" in review
    library = gd.load_library(tmp_path / "tools.json", skip_broken=True)
    assert [skipped.name for skipped in library.skipped] == ["loop", "", ""]


SONGS = """openapi: 3.0.0
paths:
  /songs:
    post:
      operationId: addSong
      parameters:
        - name: artist
          in: query
          schema: {$ref: '#/components/schemas/Nobody'}
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Song'}
components:
  schemas:
    Song:
      properties:
        genre: {type: string, enum: []}
"""


def test_mistakes_and_warnings_of_a_document_stand_at_their_lines_in_it(tmp_path):
    as_json = json.dumps(
        ImportSource(str(written(tmp_path / "x.yaml", SONGS))).document(), indent=1
    )
    for name, document in (("api.yaml", SONGS), ("api.json", as_json)):
        with pytest.raises(GenieError) as caught:
            import_source(ImportSource(str(written(tmp_path / name, document))))
        lines = document.split("\n")
        shown = [lines[p.span.line - 1][p.span.column - 1 :] for p in caught.value.problems]
        places = [p.message.rpartition("(")[2].rstrip(")") for p in caught.value.problems]
        assert [one.strip('"').split(":")[0].strip('"') for one in shown] == ["$ref", "enum"]
        assert places == [
            "paths./songs.post.parameters.0.schema.$ref",
            "components.schemas.Song.properties.genre.enum",
        ]
    text = SONGS.partition("schema: {$ref")[0] + "schema: {type: array, uniqueItems: true}\n"
    library = gd.load_library(written(tmp_path / "api.yaml", text))
    [warning] = library.warnings
    assert (warning.span.file, warning.span.line) == (str(tmp_path / "api.yaml"), 9)
    assert library.sources[warning.span.file] == text


def test_names_without_words_and_odd_schemas_are_tools_that_can_be_said(tmp_path):
    names = ("", " ", "_", "$", "--", "1", "a.b", "ü", "class", "if", "🍕", "温度", "a'b", "{x}")
    shapes = ({"type": "string"}, {"type": "integer"}, {"enum": ["on", "ON"]}, {"type": "boolean"})
    tools = [
        {"name": f"set_lamp_{chr(97 + i)}{'abcd'[j]}", "description": f"Set lamp {chr(97 + i)} {j}",
         "parameters": {"properties": {name: shape}, "required": [name]}}
        for i, name in enumerate(names) for j, shape in enumerate(shapes)
    ]  # fmt: skip
    odd = {"tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
           "none": {"type": "array", "items": False}, "never": False,
           "room": {"$ref": "#/$defs/my%20room"}, "half": {"$ref": "#/$defs/100%"}}  # fmt: skip
    defs = {"my room": {"enum": ["hall", "attic"]}, "100%": {"type": "integer"}}
    odd_tool = {"name": "odd", "parameters": {"properties": odd, "$defs": defs}}
    source = written(tmp_path / "tools.json", [*tools, odd_tool])
    result = run(ImportSource(str(source)), tmp_path / "out")
    assert result.imported.counts["tools"] == len(tools) + 1
    library = gd.load_library(tmp_path / "out" / "tools.json")
    types = {p.name: str(p.type) for p in library.tools["odd"].parameters}
    assert types == {"tuple": "a list of String", "none": "a list of any", "half": "Integer",
                     "room": "one of hall, attic"}  # fmt: skip
    found = gd.synthesize(library, tmp_path / "out" / "main.genie", size=3000, seed=1, max_depth=2)
    said = {row.functions[0] for row in found if len(row.functions) == 1}
    assert said >= {tool["name"] for tool in tools}


def test_tools_and_intents_are_chosen_by_their_names(tmp_path, capsys):
    source = str(written(tmp_path / "tools.json", {"tools": [LOOP, *TOOLS]}))
    chosen = import_source(ImportSource(source, only=("l*",), without=("loop", "lights.*")))
    assert "list_rooms" in chosen.files["tools.json"]
    assert not any(name in chosen.files["tools.json"] for name in ("lights", "loop"))
    assert not any("l" in note.path and "list" not in note.path for note in chosen.notes)
    assert (
        cli.run(["grammar", "import", source, "--only", "light.set", "-o", str(tmp_path / "out")])
        == 1
    )
    err = capsys.readouterr().err
    assert "R088" in err
    assert "did you mean 'lights.set'" in err
    nlu = "nlu:\n- intent: stop\n  examples: '- stop it'\n- intent: go\n  examples: '- go on'\n"
    found = import_source(ImportSource(str(written(tmp_path / "nlu.yml", nlu)), without=("st*",)))
    assert found.counts["tools"] == 1
    assert "stop" not in found.files["eval.tsv"]


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
    paths["/stop"] = {"post": {"operationId": "stop"}}
    source = written(tmp_path / "api.json", document)
    imported = import_source(ImportSource(str(source)))
    assert {s.name: s.problems[0].code for s in imported.skipped} == codes
    assert imported.counts["tools"] == 1
    assert gd.load_library(source).skipped == imported.skipped


def test_what_is_no_source_is_told(golden, tmp_path):
    [case], shown = cases("imports/mistakes.txt"), []
    for line in case.input.splitlines():
        name, text = json.loads(line)
        with pytest.raises(GenieError) as caught:
            import_source(ImportSource(str(written(tmp_path / name, text))))
        shown.append(str(caught.value).splitlines()[0].replace(f"{tmp_path}/", ""))
    golden(case, "\n".join(shown))


def test_a_source_that_is_not_there_or_may_be_a_server_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "server.py", SERVER)
    (tmp_path / "ls").mkdir()
    for name, message in (
        ("none.json", "is no file and no command"),
        ("no-such-command server.py", "is no file and no command"),
        ("server.py", r"genie-dp grammar import 'python server.py'"),
        ("ls", r"--kind mcp"),
    ):
        with pytest.raises(GenieError, match=message):
            kind_of(ImportSource(name))
    with pytest.raises(GenieError, match="did you mean 'openapi'"):
        kind_of(ImportSource("x"), "openapy")


def test_dates_and_numbers_of_yaml_are_those_of_json(tmp_path):
    text = "tools:\n- {name: f, parameters: {properties: {1: {default: 2020-01-02, type: string}}}}"
    found = ImportSource(str(written(tmp_path / "a.yaml", text))).document()
    assert found["tools"][0]["parameters"]["properties"] == {
        "1": {"default": "2020-01-02", "type": "string"}
    }


def test_without_its_library_a_server_is_told_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(GenieError, match=r"R082[\s\S]*genie_dp\[mcp\]"):
        import_source(ImportSource(f"{sys.executable} server.py"))


SERVER = """
from mcp.server import MCPServer
app = MCPServer("notes")
@app.tool()
def add_note(text: str, tags: list[str] | None = None) -> str:
    '''Add a note.'''
app.run()
"""


PROGRAM = f"""#!{sys.executable}
import json, sys
TOOLS = [
    {{"name": "good", "description": "Play a song", "inputSchema": {{"type": "object"}}}},
    {{"name": "bad", "inputSchema": {{"type": "object", "properties": {{"a": {{"enum": []}}}}}}}},
    {{"name": "worse", "inputSchema": {{"type": "object", "properties": [1]}}}},
]
print("Welcome!", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print("asked for", asked["method"], file=sys.stderr)
    version = asked.get("params", {{}}).get("protocolVersion")
    info = {{"protocolVersion": version, "capabilities": {{"tools": {{}}}},
            "serverInfo": {{"name": "x", "version": "1"}}}}
    found = {{"initialize": info, "tools/list": {{"tools": TOOLS}}}}.get(asked["method"])
    answer = {{"result": found}} if found else {{"error": {{"code": -32601, "message": "no"}}}}
    if "id" in asked:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **answer}}), flush=True)
"""


def test_a_server_may_be_a_program_that_writes_much_and_has_broken_tools(tmp_path, capfd):
    pytest.importorskip("mcp")
    program = written(tmp_path / "notes-server", PROGRAM)
    program.chmod(0o755)
    source = ImportSource(str(program))
    assert kind_of(source).name == "mcp"
    imported = import_source(source)
    assert [skipped.name for skipped in imported.skipped] == ["bad", "worse"]
    assert imported.counts["tools"] == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_server_is_asked_for_its_tools(tmp_path):
    pytest.importorskip("mcp")
    server = written(tmp_path / "server.py", SERVER)
    library = gd.load_library(f"{sys.executable} {server}")
    assert [p.name for p in library.tools["add_note"].parameters] == ["tags", "text"]
    with pytest.raises(GenieError, match=r"R083[\s\S]*its last lines:\n.*No such file"):
        gd.load_library(f"{sys.executable} {tmp_path / 'none.py'}")
