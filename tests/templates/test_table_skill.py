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
from genie_dp.languages import get_language
from genie_dp.parser.session import open_tables
from genie_dp.templates.data_tables import Column, connect, read_tables
from genie_dp.templates.inputs import load_library
from genie_dp.templates.run import run as check
from genie_dp.templates.skeletons import new_table_skill
from genie_dp.templates.table_skill import phrases_of

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
        for number, person in enumerate(people):
            mail = f"{person.split()[0].lower()}@example.org"
            data.execute("INSERT INTO skippers VALUES (?, ?, ?)", (number, person, mail))
        for number, boat in enumerate(BOATS):
            data.execute(
                "INSERT INTO boats VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    number, boat.title(), 4.5 + number, people[number % 3], number % 3,
                    f"19{60 + number}-05-1{number}", number % 2, ("Sloop", "Yawl", "House boat")[
                        number % 3], 10.0 * number, number,
                    f"it was found on a beach in winter {number} and mended by its first owner",
                    59.1, b"\x00",
                ),
            )  # fmt: skip
        data.commit()
    return path


def types(path, *only):
    return {
        f"{table.name}.{column.name}": column.type
        for table in read_tables(path, only)
        for column in table.columns
        if column.type
    }


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
    return [path.read_text() for path in folder.rglob("*") if path.is_file()]


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
    written = "".join(texts_in(skeleton.folder))
    assert "example.org" not in written
    assert "found on a beach" not in written


def test_nothing_is_copied_where_nothing_is_to_be(harbour, tmp_path):
    folder = tmp_path / "skills"
    new_table_skill("org.example.harbour", harbour, folder, values=["none"])
    assert not list(folder.rglob("values/*"))
    written = "".join(texts_in(folder)).lower()
    said = ("nora", "otter", "yawl", "house_boat", "example.org")
    assert not [value for value in said if value in written]


def test_only_what_is_named_is_copied(harbour, tmp_path):
    folder = tmp_path / "skills"
    new_table_skill("org.example.harbour", harbour, folder, values=["kind"])
    written = "".join(texts_in(folder)).lower()
    assert "yawl" in written
    assert "otter" not in written


def test_columns_of_one_name_share_their_list(tmp_path):
    towns = {"shops": ("Rye", "Ely"), "farms": ("Ely", "Bude")}
    tables = {
        name: [{"name": f"{name} {town}", "town": town} for town in found]
        for name, found in towns.items()
    }
    (tmp_path / "places.json").write_text(json.dumps(tables))
    skeleton = new_table_skill("org.example.places", tmp_path / "places.json", tmp_path / "skills")
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
    (tmp_path / "things.json").write_text(json.dumps(rows))
    new_table_skill("org.example.any", tmp_path / "things.json", tmp_path / "skills")
    assert [p for p in problems_of(tmp_path / "skills") if p.severity == "error"] == []


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.txt", "a,b\n1,2\n", "R090"),
        ("a.json", "{", "R090"),
        ("a.json", '{"a": 1}', "R091"),
        ("a.csv", "", "R091"),
    ],
)
def test_what_is_no_table_is_told(tmp_path, name, text, code):
    (tmp_path / name).write_text(text)
    with pytest.raises(GenieError) as error:
        read_tables(tmp_path / name)
    assert error.value.problems[0].code == code


def test_misspelt_tables_and_columns_are_told(harbour, tmp_path):
    with pytest.raises(GenieError, match="boats"):
        read_tables(harbour, ["boots"])
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
    library = load_library("thingtalk", [tmp_path / "skills"])
    tables = open_tables(source, library)

    def lines(question):
        code = f"now => {question.format(boats='@org.example.harbour.boats()')} => notify;"
        return list(tables.effects(code, get_language("thingtalk"), now=datetime(2026, 11, 20)))

    assert lines("agg count of ({boats} filter length > 10m)") == ["count = 4"]
    assert lines("[name] of (sort(length desc of ({boats}))[1:2])") == [
        "name = Eider",
        "name = Auk",
    ]
    assert lines("[name] of ({boats} filter kind == enum(house_boat) && is_wooden == true)") == [
        "name = Gannet"
    ]
    assert lines('{boats} filter built < new Date("1950-01-01T00:00:00")') == ["nothing is found"]


def test_data_of_other_skills_is_told(harbour, tmp_path):
    new_table_skill("org.example.harbour", harbour, tmp_path / "skills")
    library = load_library("thingtalk", [tmp_path / "skills"])
    other = tmp_path / "other.csv"
    other.write_text("name,age\nann,3\n")
    with pytest.raises(GenieError) as error:
        open_tables(other, library)
    assert {p.code for p in error.value.problems} == {"N043"}
    with pytest.raises(GenieError) as error:
        open_tables(other, load_library("thingtalk"))
    assert {p.code for p in error.value.problems} == {"N044"}


def test_words_of_the_language_may_be_values(tmp_path):
    rows = [{"name": f"thing {n}", "state": ("new", "Used", "true")[n % 3]} for n in range(12)]
    (tmp_path / "things.json").write_text(json.dumps(rows))
    new_table_skill("org.example.things", tmp_path / "things.json", tmp_path / "skills")
    library = load_library("thingtalk", [tmp_path / "skills"])
    tables = open_tables(tmp_path / "things.json", library)
    code = "now => agg count of (@org.example.things.things() filter state == enum(new)) => notify;"
    language = get_language("thingtalk")
    assert [*tables.effects(code, language, now=datetime(2026, 11, 20))] == ["count = 4"]


def test_what_is_called_a_name_names_a_row_although_some_share_it(tmp_path):
    def kinds(column, names):
        path = tmp_path / "tractors.json"
        path.write_text(json.dumps([{column: name, "seats": 1} for name in names]))
        return next(iter(types(path).values()))

    shared = ["gray fox", "red fox", "gray fox", "mud king", "hill mule the second, long and wide"]
    assert kinds("name", shared) == "String"  # one of four is a text
    assert kinds("name", [*shared[:4], "hill mule"]) == "ID"
    assert kinds("nick_name", [*shared[:4], "hill mule"]) != "ID"
    assert kinds("name", ["gray fox"] * 3 + ["red fox"] * 3) != "ID"


@pytest.mark.parametrize(
    ("name", "type_", "part", "said"),
    [
        ("year", "Date", "after", "newer than #"),
        ("year", "Number", "passive_verb", "from #"),
        ("year", "Number", "less", "older than #"),
        ("release year", "Number", "more", "released after #"),
        ("release year", "Date", "before", "released before #"),
        ("built year", "Number", "passive_verb", "built in #"),
        ("contract year", "Number", "more", "with a contract year after #"),
        ("origin", "Enum(here, there)", "passive_verb", "from #"),
    ],
)
def test_what_is_said_of_years_and_origins(name, type_, part, said):
    assert said in phrases_of(Column(name.replace(" ", "_"), name, name, type_))[part]


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


@pytest.mark.parametrize(
    ("texts", "type_"),
    [
        (["2021/01/31", "2021/02/01"], "Date"),
        (["1/31/2021", "2/1/2021"], "Date"),
        (["31/1/2021", "1/2/2021"], "Date"),
        (["2021/01/31 10:30:00"], "Date"),
        (["2021/01/31", "soon"], "String"),
        (["2021/13/31"], "String"),
        (["555 01 23 45"], "String"),
    ],
)
def test_texts_that_are_dates(tmp_path, texts, type_):
    path = tmp_path / "visits.json"
    path.write_text(json.dumps([{"day": text} for text in texts]))
    assert types(path) == {"visit.day": type_}


def test_a_phone_number_is_called_one_or_begins_with_its_country(tmp_path):
    path = tmp_path / "calls.json"
    rows = [{"phone": f"555 01 23 {n}", "line": f"+44 20 7946 0{n}"} for n in range(10, 14)]
    path.write_text(json.dumps(rows))
    assert set(types(path).values()) == {"Entity(tt:phone_number)"}


def test_a_first_name_beside_a_last_name_names_no_row(tmp_path):
    path = tmp_path / "divers.json"
    people = (("Ada", "Quay"), ("Bo", "Sund"), ("Cy", "Holm"))
    path.write_text(json.dumps([{"first_name": a, "last_name": b} for a, b in people]))
    assert "ID" not in types(path).values()
    path.write_text(json.dumps([{"first_name": a, "fins": 2} for a, b in people]))
    assert types(path)["diver.first_name"] == "ID"


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


SIZE = {"name": ("ID", "name"), "size": ("Number", "size")}
COST = {"name": ("ID", "name"), "price": ("Currency", "price")}
DUE = {"name": ("ID", "name"), "due": ("Date", "due")}
TEXT = {"name": ("ID", "name"), "size": ("String", "size")}


@pytest.mark.parametrize(
    ("text", "said", "row"),
    [
        ("name;size\nA;1,5\nB;2\n", SIZE, "A / 1.5"),
        ("sep=;\nname;size\nA, B;1,5\nC;2\n", SIZE, "A, B / 1.5"),
        ('"sep=|"\r\nname|size\r\nA;B,C|1\r\n\r\nD|2\r\n', SIZE, "A;B,C / 1"),
        ("\ufeffname\tsize\rA\t1\rB\t2\r", SIZE, "A / 1"),
        ("name\tsize\nA\t1\n".encode("utf-16"), SIZE, "A / 1"),
        ("size\n1,5\n2,25\n", {"size": SIZE["size"]}, "1.5"),
        (",name,size,\n0,A,1,\n1,B,2,\n", SIZE, "A / 1"),
        ('name,size\nA,"1,234"\nB,"1,234,567.5"\n', SIZE, "A / 1234"),
        ("name;size\nA;1,234\nB;2,500\n", SIZE, "A / 1.234"),
        ("name;size\nA;1.234\nB;2.500\n", SIZE, "A / 1.234"),
        ("name;size;price\nA;1.234;0,5\n", {**SIZE, **COST}, "A / 1234 / 0.5"),
        ("name;size\nA;1'234.5\nB;12\n", SIZE, "A / 1234.5"),
        ("name;size\nA;-1\u202f234,5\nB;+12\n", SIZE, "A / -1234.5"),
        ("name,size\nA,12%\nB,7.5 %\n", SIZE, "A / 12"),
        ("name;price\nA;1.234,50 €\nB;5,00 €\n", COST, "A / 1234.50"),
        ("name,price\nA,$5.00\nB,-$2\n", COST, "A / 5.00"),
        ("name;size\nA;1,5\nB;2.5\n", TEXT, "A / 1,5"),
        ("name,size\nA,01234\nB,98765\n", TEXT, "A / 01234"),
        ("name,size\nA,1.2.3\nB,1.10.0\n", TEXT, "A / 1.2.3"),
        ('name,size\nA,5" pipe\nB,"a ""b""\nc"\n', TEXT, 'A / 5" pipe'),
        ("name,due\nA,03/04/2020\nB,01/02/2021\n", DUE, "A / 2020-03-04"),
    ],
)  # fmt: skip
def test_tables_of_spreadsheets_are_read(text, said, row, tmp_path):
    assert read_both(tmp_path / "made.csv", text)[:2] == (said, row)


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


@pytest.mark.parametrize(
    ("name", "text", "place", "message"),
    [
        ("a.csv", 'name,size\nA,1\n"B,2\nC,3\n', ":3:1", "is never closed"),
        ("a.csv", 'sep=,\nname,size\n"A"x,1\n', ":3:1", "behind the quote"),
        ("a.csv", "name,size\nA,1\nB,2,3\n", ":3:1", "expected 2 cells as in the header, got 3"),
        ("a.csv", "name,size\n\nA\n", ":3:1", "expected 2 cells as in the header, got 1"),
        ("a.csv", "name,size,Size \nA,1,2\n", ":1:1", "two columns are called 'Size'"),
        ("a.csv", "last, first;age\nDoe, Jo;5\n", ":1:1", "parted by ',' or by ';'"),
        ("a.csv", "name;Größe\nA;1\n".encode("latin-1"), ":1:8", "expected UTF-8 text"),
        ("a.csv", "name,size\n", "", "a header and no rows"),
        ("a.csv", "\n \n", "", "nothing in it"),
        ("a.json", '[{"name": "A", "Size": 1, "size": 2}]', "", "are called 'size'"),
        ("a.jsonl", '{"name": "A"}\n{"name":\n', ":2:9", "not JSON"),
    ],
)
@pytest.mark.parametrize("door", [read_tables, connect])
def test_what_is_no_table_is_refused_with_its_place(door, name, text, place, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(GenieError) as caught:
        door(path)
    shown = str(caught.value)
    assert message in shown
    assert f"{path}{place}" in shown
