"""Skills that are made of tables: types and phrases are guessed, and what is made checks."""

import csv
import json
import random
import sqlite3
from contextlib import closing
from datetime import datetime

import pytest

from genie_dp.augment.values import without_listed
from genie_dp.errors import GenieError
from genie_dp.importers.data_types import InferredColumn, read_tables
from genie_dp.importers.skeletons import new_table_skill
from genie_dp.importers.table_skill import phrases_of
from genie_dp.languages import get_language
from genie_dp.parser.session import open_tables
from genie_dp.skills.data_tables import connect
from genie_dp.templates.inputs import load_library
from genie_dp.templates.run import run as check
from tests.golden import cases

BOATS = ("otter", "heron", "puffin", "marlin", "orca", "gannet", "tern", "skua", "auk", "eider")


@pytest.fixture
def harbour(tmp_path):
    path = tmp_path / "harbour.db"
    with closing(sqlite3.connect(path)) as data:
        data.execute("CREATE TABLE skippers (id INTEGER PRIMARY KEY, full_name TEXT, email TEXT)")
        data.execute(
            "CREATE TABLE boats (id INTEGER, name TEXT, length_m REAL, skipper TEXT,"
            " skipper_id INTEGER REFERENCES skippers (id), built DATE, is_wooden INTEGER,"
            " kind TEXT, berth_fee REAL, crew_count INTEGER, story TEXT, lat REAL, photo BLOB)"
        )
        people = ("Nora Quay", "Ole Sund", "Pia Holm")
        for n, person in enumerate(people):
            mail = f"{person.split()[0].lower()}@example.org"
            data.execute("INSERT INTO skippers VALUES (?, ?, ?)", (n, person, mail))
        for n, boat in enumerate(BOATS):
            kind = ("Sloop", "Yawl", "House boat")[n % 3]
            story = f"it was found on a beach in winter {n} and mended by its first owner"
            row = (n, boat.title(), 4.5 + n, people[n % 3], n % 3, f"19{60 + n}-05-1{n}", n % 2,
                   kind, 10.0 * n, n, story, 59.1, b"\x00")  # fmt: skip
            data.execute(f"INSERT INTO boats VALUES ({', '.join('?' * len(row))})", row)
        data.commit()
    return path


def types(path, *only):
    columns = [(t.name, c) for t in read_tables(path, only) for c in t.columns if c.type]
    return {f"{table}.{column.name}": column.type for table, column in columns}


def json_file(path, rows):
    path.write_text(json.dumps(rows))
    return path


def test_types_follow_from_values_declarations_and_names(harbour):
    assert types(harbour) == {
        "skipper.full_name": "ID",
        "skipper.email": "Entity(tt:email_address)",
        "boat.name": "ID",
        "boat.length": "Measure(m)",
        "boat.skipper": "ID skipper",
        "boat.built": "Date",
        "boat.is_wooden": "Boolean",
        "boat.kind": "Enum(house_boat, sloop, yawl)",
        "boat.berth_fee": "Currency",
        "boat.crew_count": "Number",
        "boat.story": "String",
    }
    left_out = [c.source for t in read_tables(harbour) for c in t.columns if not c.type]
    assert left_out == ["id", "id", "skipper_id", "lat", "photo"]


def test_other_kinds_of_files(tmp_path):
    rows = tmp_path / "tracks.csv"
    rows.write_text("Title;Playtime (min);Instrumental\nGrey Sea;3.5;no\nLow Tide;4;yes\n")
    assert types(rows) == {
        "track.title": "ID",
        "track.playtime": "Measure(min)",
        "track.instrumental": "Boolean",
    }
    sample = tmp_path / "cafes.json"
    cafe = {"name": "Quay", "openSince": "2001-03-04", "dishes": ["soup", "pie"]}
    sample.write_text(json.dumps([{**cafe, "address": {"city": "Lowtown"}, "seats": 12}]))
    assert types(sample) == {
        "cafe.name": "ID",
        "cafe.open_since": "Date",
        "cafe.dishes": "String",
        "cafe.city": "String",
        "cafe.seats": "Number",
    }
    [table] = read_tables(sample)
    assert [(c.source, c.is_list) for c in table.columns[2:4]] == [
        ("dishes", True),
        ("address.city", False),
    ]


def test_types_of_schema_org(tmp_path):
    def node(name, kind, **more):
        return {"@id": f"schema:{name}", "@type": kind, **more}

    def about(name, of, is_a):
        ends = {"schema:domainIncludes": {"@id": f"schema:{of}"}}
        ends["schema:rangeIncludes"] = [{"@id": f"schema:{is_a}"}]
        return node(name, "rdf:Property", **ends)

    path = tmp_path / "vocabulary.jsonld"
    graph = [
        node("Thing", "rdfs:Class"),
        node("Boat", "rdfs:Class", **{"rdfs:subClassOf": {"@id": "schema:Thing"}}),
        about("name", "Thing", "Text"),
        about("sameAs", "Thing", "URL"),
        about("launchDate", "Boat", "Date"),
        about("crewSize", "Boat", "Integer"),
        about("price", "Shop", "Number"),
    ]
    path.write_text(json.dumps({"@graph": graph}))
    found = types(path, "Boat")
    assert found == {"boat.name": "ID", "boat.launch_date": "Date", "boat.crew_size": "Number"}


def texts_in(folder):
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def problems_of(folder):
    return check(get_language("thingtalk"), [folder], lists=without_listed).problems


def test_what_is_made_checks_and_says_what_it_copied(harbour, tmp_path):
    skeleton = new_table_skill("org.example.harbour", harbour, tmp_path / "skills")
    assert problems_of(tmp_path / "skills") == []
    lists = {path.stem: path.read_text() for path in skeleton.folder.glob("values/*.tsv")}
    assert lists.keys() == {"boat", "skipper"}
    assert "nora quay" in lists["skipper"]
    said = "\n".join(skeleton.lines())
    templates = (skeleton.folder / "templates.genie").read_text()
    assert "'yawls' -> boats() filter kind == enum(yawl);" in templates
    assert "10 of its values were copied to values/boat.tsv" in said
    assert "REVIEW.md" in said
    written = texts_in(skeleton.folder)
    assert "example.org" not in written
    assert "found on a beach" not in written


@pytest.mark.parametrize(("values", "copied"), [("none", []), ("kind", ["yawl", "house_boat"])])
def test_only_what_is_named_is_copied(harbour, tmp_path, values, copied):
    folder = tmp_path / "skills"
    new_table_skill("org.example.harbour", harbour, folder, values=[values])
    written = texts_in(folder).lower()
    values = ("nora", "otter", "yawl", "house_boat", "example.org")
    assert [value for value in values if value in written] == copied
    assert not list(folder.rglob("values/*"))


def test_columns_of_one_name_share_their_list(tmp_path):
    towns = {"shops": ("Rye", "Ely"), "farms": ("Ely", "Bude")}
    tables = {n: [{"name": f"{n} {t}", "town": t} for t in found] for n, found in towns.items()}
    file = json_file(tmp_path / "places.json", tables)
    skeleton = new_table_skill("org.example.places", file, tmp_path / "skills")
    listed = (skeleton.folder / "values" / "town.tsv").read_text()
    assert listed == "value\tweight\nrye\t1\nely\t1\nbude\t1\n"


@pytest.mark.parametrize("seed", range(4))
def test_whatever_columns_are_called_the_skill_can_be_read(tmp_path, seed):
    rng = random.Random(seed)
    words = "null Name size is has Größe 2nd price at date of kg works for count status ? true"
    columns = {" ".join(rng.choices(words.split(), k=rng.randint(1, 3))): None for _ in range(9)}
    makers = (
        lambda n: n, lambda n: n / 3, lambda n: f"20{n:02}-01-02", lambda n: "ab"[n % 2],
        lambda n: None, lambda n: f'a "quoted" \\ {n}', lambda n: [n, "x"], lambda n: n % 2 == 0,
        lambda n: f"{n}:30", lambda n: "many words in a row that nobody would call a name " * 2,
    )  # fmt: skip
    chosen = {column: rng.choice(makers) for column in columns}
    rows = [{column: make(number) for column, make in chosen.items()} for number in range(1, 20)]
    new_table_skill("org.example.any", json_file(tmp_path / "a.json", rows), tmp_path / "skills")
    assert [p for p in problems_of(tmp_path / "skills") if p.severity == "error"] == []


def test_misspelt_tables_and_columns_are_told(harbour, tmp_path):
    with pytest.raises(GenieError, match="boats"):
        read_tables(harbour, ["boots"])
    with pytest.raises(GenieError, match="R091"):
        read_tables(json_file(tmp_path / "a.json", {"a": 1}))
    with pytest.raises(GenieError) as error:
        new_table_skill("org.example.h", harbour, tmp_path, values=["nmae"])
    assert [(p.code, p.hint) for p in error.value.problems] == [("R093", "did you mean 'name'?")]


def test_phrases_are_english(harbour):
    said = {c.name: phrases_of(c) for t in read_tables(harbour) for c in t.columns if c.type}
    assert said["length"]["more"] == ["longer than #"]
    assert said["built"]["passive_verb"] == ["built on #"]
    assert said["crew_count"]["property"] == ["# crews"]
    assert said["is_wooden"]["adjective_true"] == ["wooden"]
    assert said["kind"]["adjective"] == ["#"]
    assert said["full_name"]["base"] == ["name"]


def answers(source, library, *questions):
    tables, language = open_tables(source, library), get_language("thingtalk")
    now = datetime(2026, 11, 20)
    return [[*tables.effects(f"now => {q} => notify;", language, now=now)] for q in questions]


@pytest.mark.parametrize("as_csv", [False, True])
def test_the_data_answers_questions_about_itself(harbour, tmp_path, as_csv):
    source = harbour
    if as_csv:
        source = tmp_path / "boats.csv"
        with closing(sqlite3.connect(harbour)) as data, open(source, "w", newline="") as file:
            found = data.execute("SELECT name, length_m, kind, is_wooden, built FROM boats")
            writer = csv.writer(file)
            writer.writerow([column[0] for column in found.description])
            writer.writerows(found)
    new_table_skill("org.example.harbour", source, tmp_path / "skills")
    library, boats = (
        load_library("thingtalk", [tmp_path / "skills"]),
        "@org.example.harbour.boats()",
    )
    assert answers(
        source,
        library,
        f"agg count of ({boats} filter length > 10m)",
        f"[name] of (sort(length desc of ({boats}))[1:2])",
        f"[name] of ({boats} filter kind == enum(house_boat) && is_wooden == true)",
        f'{boats} filter built < new Date("1950-01-01T00:00:00")',
    ) == [["count = 4"], ["name = Eider", "name = Auk"], ["name = Gannet"], ["nothing is found"]]
    other = tmp_path / "other.csv"
    other.write_text("name,age\nann,3\n")
    for asked, code in ((library, "N043"), (load_library("thingtalk"), "N044")):
        with pytest.raises(GenieError) as error:
            open_tables(other, asked)
        assert {p.code for p in error.value.problems} == {code}


def test_words_of_the_language_may_be_values(tmp_path):
    rows = [{"name": f"thing {n}", "state": ("new", "Used", "true")[n % 3]} for n in range(12)]
    source = json_file(tmp_path / "things.json", rows)
    new_table_skill("org.example.things", source, tmp_path / "skills")
    library = load_library("thingtalk", [tmp_path / "skills"])
    question = "agg count of (@org.example.things.things() filter state == enum(new))"
    assert answers(source, library, question) == [["count = 4"]]


@pytest.mark.parametrize("case", cases("tables/types.txt"), ids=str)
def test_types_of_columns(case, golden, tmp_path):
    shown = []
    for line in case.input.splitlines():
        [(column, values)] = json.loads(line).items()
        rows = [{column: value, "seats": 1} for value in values]
        shown.append(next(iter(types(json_file(tmp_path / "tractors.json", rows)).values())))
    golden(case, "\n".join(shown))


def test_what_is_said_of_years_and_origins(golden):
    [case], shown = cases("tables/phrases.txt"), []
    for line in case.input.splitlines():
        name, type_ = line.split(": ")
        shown.append(
            json.dumps(phrases_of(InferredColumn(name.replace(" ", "_"), name, name, type_)))
        )
    golden(case, "\n".join(shown))


def test_dates_of_other_forms_are_dates_in_the_skill_and_in_its_answers(tmp_path):
    path = tmp_path / "swims.csv"
    days = ("Jan 3 2021", "Feb 14 2021", "Mar 1 2022")
    lines = [f"{day},{40 + n},{n},9 {n}" for n, day in enumerate(days)]
    path.write_text("\n".join(["date,temp_max,temp_min,code", *lines]))
    [table] = read_tables(path)
    assert [(c.name, c.type, c.words) for c in table.columns[:3]] == [
        ("date", "Date", "date"),
        ("temp_max", "Number", "maximum temperature"),
        ("temp_min", "Number", "minimum temperature"),
    ]
    assert table.columns[0].why == "its dates are written as %b %d %Y"
    with closing(connect(path)) as database:
        found = database.execute("SELECT date FROM swims ORDER BY 1").fetchall()
    assert found == [("2021-01-03",), ("2021-02-14",), ("2022-03-01",)]


def test_phone_numbers_and_first_names_are_known_by_what_is_beside_them(tmp_path):
    rows = [{"phone": f"555 01 23 {n}", "line": f"+44 20 7946 0{n}"} for n in range(10, 14)]
    found = types(json_file(tmp_path / "calls.json", rows)).values()
    assert set(found) == {"Entity(tt:phone_number)"}
    people = (("Ada", "Quay"), ("Bo", "Sund"), ("Cy", "Holm"))
    rows = [{"first_name": a, "last_name": b} for a, b in people]
    assert "ID" not in types(json_file(tmp_path / "divers.json", rows)).values()
    rows = [{"first_name": a, "fins": 2} for a, _ in people]
    assert types(json_file(tmp_path / "divers.json", rows))["diver.first_name"] == "ID"


# --------------------------------------------------------------------- what spreadsheets write


def read_both(path, text):
    """Return the columns of a CSV file, and its first row as questions are answered from it."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [table] = read_tables(path)
    said = {c.name: (c.type, c.words) for c in table.columns if c.type}
    names = ", ".join(f'"{c.source}"' for c in table.columns if c.type)
    with closing(connect(path)) as data:
        row = data.execute(f'SELECT {names} FROM "{table.source}"').fetchone()
    return said, " / ".join(row), {c.source: c.why for c in table.columns if c.why}


def test_tables_of_spreadsheets_are_read(golden, tmp_path):
    [case], shown = cases("tables/spreadsheets.txt"), []
    for line in case.input.splitlines():
        text, *encoding = json.loads(line)
        said, row, _ = read_both(tmp_path / "made.csv", text.encode(*encoding))
        shown.append(f"{', '.join(f'{n} {t}' for n, (t, _) in said.items())}: {json.dumps(row)}")
    golden(case, "\n".join(shown))


def test_days_come_first_where_other_columns_say_so(tmp_path):
    text = "name;begun;sold;price\nA;03/04/2020;31/12/2020;1\nB;01/02/2021;01/02/2021;1\n"
    said, row, notes = read_both(tmp_path / "made.csv", text)
    assert row == "A / 2020-04-03 / 2020-12-31 / 1"
    assert "though they might be as %m/%d/%Y" in notes["begun"]
    assert "though" not in notes["sold"]


def test_names_of_columns_keep_their_letters(tmp_path):
    head = "Prénom;Größe (cm);Customer’s Name;顧客;🍕 slices;🍕;shoeSize"
    said, _, notes = read_both(tmp_path / "Läden.csv", f"{head}\nZoé;1,5;B C;山田;5;x;7\n")
    assert said == {
        "prenom": ("String", "prénom"),
        "grosse": ("Measure(cm)", "größe"),
        "customers_name": ("ID", "customer's name"),
        "column_4": ("String", "顧客"),
        "slices": ("Number", "slices"),
        "shoe_size": ("Number", "shoe size"),
    }
    assert notes["🍕"] == "its name has no letters"
    [table] = read_tables(tmp_path / "Läden.csv")
    assert (table.name, table.words) == ("laden", "läden")
    new_table_skill("com.example.laden", tmp_path / "Läden.csv", tmp_path / "skills")
    assert not [p for p in problems_of(tmp_path / "skills") if p.severity == "error"]


def test_what_is_no_table_is_refused_with_its_place(golden, tmp_path):
    [case], shown = cases("tables/mistakes.txt"), []
    for line in case.input.splitlines():
        name, text, *encoding = json.loads(line)
        path = tmp_path / name
        path.write_bytes(text.encode(*encoding))
        told = set()
        for door in (read_tables, connect):
            with pytest.raises(GenieError) as caught:
                door(path)
            told.add(str(caught.value).splitlines()[0].replace(str(path), name))
        shown.append(" / ".join(sorted(told)))
    golden(case, "\n".join(shown))
