"""The report of a run: what it counts, what it says of what never appears, and its page."""

import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from genie_dp.skills.load import load_library
from genie_dp.synthesis.report import ParameterNames, render_page
from tests.golden import cases
from tests.synthesis.synthesis_project import RAISING, Project, errands, notes

pytestmark = pytest.mark.xdist_group("reports")


@pytest.mark.parametrize("case", cases("report/parameters.txt"), ids=str)
def test_parameters_are_read_off_the_token_form(case, folder, small, golden):
    library = load_library([folder / "notes" / "thingpedia"])
    found = ParameterNames.from_library(library).in_program(case.input.strip())
    golden(case, "\n".join(f"{f.rpartition('.')[2]}:{p}" for f, p in found))


def report_of(project: Project, folder: Path, *options: object) -> dict[str, Any]:
    """Run synthesize and return its report; the rows are in folder/pairs.jsonl."""
    words = ["--output", folder / "pairs.jsonl", "--report", folder / "report", "--overwrite"]
    assert project.run(*words, *options) == 0
    return json.loads((folder / "report" / "report.json").read_text())


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def report(folder):
    project = errands(folder / "errands", RAISING)
    return report_of(project, folder, "--size", 9000, "--on-error", "skip")


@pytest.fixture(scope="module")
def small(folder):
    return report_of(notes(folder / "notes"), folder / "made", "--max-depth", 3)


def test_counts_are_those_of_the_rows(report, small, folder):
    rows, totals = rows_of(folder), report["totals"]
    assert totals["rows"] == len(rows) == 9000
    for name, values in (
        ("depth", [row["depth"] for row in rows]),
        ("length", [len(row["utterance"].split()) for row in rows]),
        ("functions_per_row", [len(row["functions"]) for row in rows]),
    ):
        found = Counter({int(value): count for value, count in report[name].items() if count})
        assert found == Counter(values), name
        assert [int(v) for v in report[name]] == list(range(min(values), max(values) + 1))
    assert totals["distinct_programs"] == len({row["program"] for row in rows})
    left_out = sum(totals[n] for n in ("rejected", "raised", "repeated", "ambiguous"))
    assert 0 <= totals["draws"] - left_out - len(rows) < 4096  # the last block ran past the size
    functions = Counter(f for row in rows for f in set(row["functions"]))
    seen = report["functions"]["seen"]
    assert {item["name"]: item["rows"] for item in seen} == functions
    assert [item["rows"] for item in seen] == sorted(functions.values(), reverse=True)
    top = sum(count for _, count in functions.most_common(10))
    assert report["functions"]["top_ten_share"] == round(top / functions.total(), 4)
    templates = Counter(t for row in rows for t in set(row["derivation"]))
    found = {item["id"]: item["rows"] for item in report["templates"]}
    assert found == {name: templates[name] for name in found}
    assert {name for name, count in found.items() if not count} == {"lost"}
    pair = report["pairs"]["top"][0]
    assert pair["rows"] == sum(set(pair["functions"]) <= set(row["functions"]) for row in rows)
    assert pair["functions"] == sorted(pair["functions"])
    # Two queries and four actions: 1 pair of queries, 8 of a query and an action.
    assert small["pairs"]["possible"] == 9


def test_acceptance_is_kept_of_drawn_and_only_for_roots(report):
    templates = {item["id"]: item for item in report["templates"]}
    check = templates["check"]
    assert check["acceptance"] == round(check["kept"] / check["drawn"], 4) < 1
    assert check["rejected"] == check["drawn"] - check["kept"] == report["totals"]["raised"]
    assert templates["bring"]["acceptance"] == 1
    assert templates["thing"]["acceptance"] is None


def test_ambiguous_sentences_and_errors_come_with_derivations_and_places(report, folder):
    told = report["ambiguous"]
    assert told["count"] == report["totals"]["ambiguous"] > len(told["shown"]) > 100
    kept = {row["utterance"]: row for row in rows_of(folder)}
    for item in told["shown"]:
        stays = kept[item["utterance"]]
        assert item["kept"] == {n: stays[n] for n in ("id", "program", "derivation")}
        assert item["dropped"]
        for dropped in item["dropped"]:
            assert dropped["program"] != stays["program"]
            assert {dropped["derivation"][0], stays["derivation"][0]} == {"bring", "take"}
    dropped = sum(len(item["dropped"]) for item in told["shown"])
    assert told["templates"] == [{"templates": ["bring", "take"], "sentences": dropped}]
    place, times = f"{folder}/errands/main.genie:12:31", report["totals"]["raised"]
    error = {"template": "check", "place": place, "exception": "ArithmeticError", "times": times}
    assert report["raised"] == [error]


def test_phrases_with_two_programs_and_broken_skills_are_named(tmp_path):
    extra = r"NP := 'notes about ${t:const}' -> \(t : String) -> @com.example.%s.notes() filter %s;"
    lines = [extra % ("diary", "text =~ t"), extra % ("diary", "text == t")]
    report = with_templates(tmp_path, *lines)
    assert report["pool_conflicts"]["shown"] == {"notes about QUOTED_STRING_0": 1}
    (tmp_path / "thingpedia/com.example.cookbook/skill.tt").write_text("class {")
    project = Project(tmp_path, ("--skills", str(tmp_path / "thingpedia"), "--grammar",
                                 str(tmp_path / "grammars/en")))  # fmt: skip
    [skipped] = report_of(project, tmp_path, "--skip-broken", "--max-depth", 2)["skipped"]
    assert skipped["path"].endswith("com.example.cookbook")
    assert skipped["problems"][0]["code"].startswith("S")


def reasons_of(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {item["id"]: item["reason"] for item in report["templates"] if item["reason"]}


def with_templates(folder: Path, *lines: str, **options: Any) -> dict[str, Any]:
    project = notes(folder)
    grammar = folder / "grammars/en/main.genie"
    grammar.write_text("\n".join([grammar.read_text(), *lines]))
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return report_of(project, folder, "--max-depth", 3, *words)


def test_a_small_library_appears_as_a_whole(small):
    assert reasons_of(small) == {}
    assert small["functions"]["never"] == []
    assert small["functions"]["callable"] == small["functions"]["taking_part"] == 6
    assert small["parameters"]["never"] == []
    assert small["parameters"]["all"] == 14


def test_a_template_that_never_appears_says_why(golden, tmp_path):
    never = cases("report/never.txt")
    lines = (case.input.replace('"it"', f'"{case.name}"') for case in never)
    reasons = reasons_of(with_templates(tmp_path, *lines))
    for case in never:
        golden(case, "{kind}: {detail}".format(**reasons[case.name]))


def test_of_two_templates_with_the_same_words_one_is_left_out(tmp_path):
    line = "NP := 'the notes in my diary' -> @com.example.diary.notes() filter word_count > 5;"
    report = with_templates(tmp_path, line)
    [reason] = reasons_of(report).values()
    assert reason == {
        "kind": "left out",
        "detail": "other templates say all of it in the same words",
    }
    assert report["pool_conflicts"]["shown"] == {"the notes in my diary": 1}


def test_excluded_functions_say_so_with_their_templates_and_parameters(tmp_path):
    report = with_templates(tmp_path, exclude="@com.example.diary.delete_note")
    assert report["functions"]["taking_part"] == 5
    [never] = report["functions"]["never"]
    assert never == {
        "name": "@com.example.diary.delete_note",
        "kind": "excluded",
        "detail": "by --include, --exclude or --weights",
    }
    assert not any("diary.delete_note" in p["name"] for p in report["parameters"]["never"])
    kinds = Counter(reason["kind"] for reason in reasons_of(report).values())
    assert kinds == {"excluded": 2}


def test_a_function_without_template_and_an_output_without_phrase_say_so(tmp_path):
    project = notes(tmp_path)
    diary = tmp_path / "thingpedia/com.example.diary"
    templates, skill = diary / "templates.genie", diary / "skill.tt"
    kept = [s for s in templates.read_text().split(";\n") if "delete_note" not in s]
    templates.write_text(";\n".join(kept))
    text = skill.read_text()
    assert "out word_count : Number" in text
    skill.write_text(text.replace("out word_count", "out pages : Number,\n    out word_count"))
    report = report_of(project, tmp_path, "--max-depth", 3)
    name = "@com.example.diary.delete_note"
    assert report["functions"]["never"] == [
        {"name": name, "kind": "no template", "detail": "no template names it"}
    ]
    # Only deleting takes a note, so that output of the diary goes with it.
    assert {p["name"]: p["kind"] for p in report["parameters"]["never"]} == {
        f"{name}:note": "function",
        "@com.example.diary.notes:note": "not drawn",
        "@com.example.diary.notes:pages": "no phrase",
    }


def diaries(folder: Path, templates: str) -> Project:
    """Write the two skills, the diary as an abstract class, and a make of it."""
    project = notes(folder)
    diary, make = (folder / "thingpedia" / f"com.example.{name}" for name in ("diary", "red"))
    declared = diary / "skill.tt"
    declared.write_text(declared.read_text().replace("class @", "abstract class @", 1))
    make.mkdir()
    (make / "skill.tt").write_text("class @com.example.red extends @com.example.diary {}")
    (make / "templates.genie").write_text(templates)
    return project


def test_functions_are_counted_once_where_classes_extend_others(tmp_path):
    """A kind of diary and a make of it, which templates call by name for one function only."""
    project = diaries(
        tmp_path, "NP[num=pl] := 'notes in my red diary' -> @com.example.red.notes();"
    )
    alone = report_of(notes(tmp_path / "alone"), tmp_path / "alone")["functions"]
    report = report_of(project, tmp_path)
    functions = report["functions"]
    assert (alone["callable"], alone["inherited"], alone["taking_part"]) == (6, 0, 6)
    assert (functions["callable"], functions["inherited"], functions["taking_part"]) == (9, 2, 7)
    assert functions["never"] == []
    seen = {item["name"]: item["rows"] for item in functions["seen"]}
    assert {"@com.example.diary.notes", "@com.example.red.notes"} < seen.keys()
    assert len(seen) == 7
    names = {item["name"].rpartition(":")[0] for item in report["parameters"]["seen"]}
    assert "@com.example.red.notes" in names
    assert "2 inherited functions" in render_page(report)


def test_what_is_synthesized_of_classes_that_others_extend_is_learned(tmp_path):
    from genie_dp.parser.config import InputFile, ParserConfig
    from genie_dp.parser.rows import Reading, Style, read_all, target_of

    report_of(diaries(tmp_path, ""), tmp_path, "--size", 2000)
    library = load_library([tmp_path / "thingpedia"])
    config = ParserConfig((InputFile(str(tmp_path / "pairs.jsonl")),), steps=1, held_out=0.0)
    found = read_all(config, target_of(Style(), "thingtalk", library), Reading())
    assert sum(found.counts.values()) == len(rows_of(tmp_path))
    assert not found.left


def test_a_template_too_rare_to_be_drawn_says_so(tmp_path):
    report = report_of(notes(tmp_path), tmp_path, "--size", 1)
    reasons = reasons_of(report)
    assert {reason["kind"] for reason in reasons.values()} == {"rare", "left out"}
    assert {item["kind"] for item in report["functions"]["never"]} == {"rare"}


def test_parameters_of_rows_are_those_of_their_slots_and_more(small, folder):
    slots = Counter()
    for row in rows_of(folder / "made"):
        slots.update({slot["parameter"] for slot in row["slots"].values()})
    seen = {item["name"]: item["rows"] for item in small["parameters"]["seen"]}
    assert slots.keys() <= seen.keys()
    assert all(seen[name] >= count for name, count in slots.items())
    assert seen["@com.example.diary.add_note:text"] > slots["@com.example.diary.add_note:text"]


class Reader(HTMLParser):
    """Checks that tags close in order, and collects what the page refers to."""

    VOID = frozenset({"meta", "br", "rect", "line", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1
        self.links += [v for k, v in attrs if k in ("src", "href", "srcset", "data", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_well_formed_loads_nothing_and_shows_the_report(report, folder):
    page = (folder / "report" / "report.html").read_text()
    assert page.lstrip().startswith("<!doctype html>")
    reader, totals = Reader(page), report["totals"]
    assert set(reader.links) == {"#rows", "#functions", "#templates", "#trouble"}
    assert not reader.tags.keys() & {"script", "link", "img", "iframe"}
    assert not any(mark in page for mark in ("@import", "url("))
    assert 'name="viewport"' in page
    text = " ".join(reader.text.split())
    for shown in (
        f"{totals['rows']:,} rows",
        f"{totals['distinct_programs']:,} different programs",
        f"Sentences with two programs: {totals['ambiguous']:,}",
        report["ambiguous"]["shown"][0]["utterance"],
        "no sentence contains the category LOST",
        "ArithmeticError",
    ):
        assert shown in text
    assert reader.tags["svg"] >= 3 + len(report["functions"]["seen"]) + 4


def test_texts_are_escaped_and_long_tables_cut_in_the_page(report):
    evil = "<script>alert('&amp;')</script>"
    changed = json.loads(json.dumps(report))
    changed["ambiguous"]["shown"][0]["utterance"] = evil
    changed["functions"]["seen"][0]["name"] = evil
    lost = next(t for t in changed["templates"] if t["reason"])
    lost |= {"id": evil, "reason": {"kind": evil, "detail": evil}}
    changed["templates"] += [{**lost, "id": f"lost{i}"} for i in range(1000)]
    text = render_page(changed)
    assert Reader(text).tags["script"] == 0
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 4
    assert "601 more are in report.json." in text
    assert "lost999" not in text


def test_a_run_without_rows_has_a_page(report):
    empty = dict.fromkeys(("depth", "length", "functions_per_row"), {}) | {
        "totals": dict.fromkeys(report["totals"], 0),
        "functions": {**report["functions"], "seen": [], "top_ten_share": 0.0},
        "templates": [],
        "pairs": {"possible": None, "seen": 0, "top": []},
        "ambiguous": {"count": 0, "templates": [], "shown": []},
        "raised": [],
    }
    assert "None was met." in render_page(report | empty)
