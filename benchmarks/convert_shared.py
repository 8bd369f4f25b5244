"""How many rows and templates of public data sets are read, and why others are not.

python benchmarks/convert_shared.py ../shared/data [--only thingtalk]
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from genie_dp.dataset.formats import LeftRow, ReadOptions, find_reader
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.parser import parse_library
from genie_dp.skills.load import load_library
from genie_dp.skills.thingpedia import check_example, with_signature_types
from genie_dp.skills.thingpedia import convert as convert_templates

FILES = (
    ("smcalflow", "smcalflow/smcalflow*.jsonl*"),
    ("topv2", "topv2/*.jsonl*"),
    ("pizza", "pizza/dev.jsonl"),
    ("overnight", "overnight/*.jsonl"),
    ("overnight", "overnight/*.canonical.tsv"),
    ("sgd", "sgd/*.jsonl.gz"),
    ("intents", "intents/*.tsv"),
)


def skills_of(objects, folder):
    """Write classes that were read into JSON as skill folders; return how many."""
    count = 0
    for told in objects:
        name = told["class"].removeprefix("@")
        target = folder / name
        target.mkdir(exist_ok=True)
        (target / "skill.tt").write_text(class_text(told), encoding="utf-8")
        count += 1
    return count


def class_text(told):
    """Return a class as its declaration."""
    extends = f" extends {', '.join(told['extends'])}" if told.get("extends") else ""
    lines = [f"class @{told['class'].removeprefix('@')}{extends} {{"]
    for entity in told.get("entities", ()):
        parents = entity.get("extends", [])
        parents = [parents] if isinstance(parents, str) else parents
        extends = f" extends {', '.join(parents)}" if parents else ""
        lines.append(f"  entity {entity['name']}{extends};")
    for function in told["functions"]:
        modifiers = "monitorable " * bool(function.get("monitorable"))
        modifiers += "list " * bool(function.get("list"))
        parents = f" extends {', '.join(function['extends'])}" if function.get("extends") else ""
        params = ", ".join(filter(None, map(param_text, function["params"])))
        kind = function["kind"]
        if kind == "action":
            modifiers = ""
        lines.append(f"  {modifiers}{kind} {function['name']}{parents}({params});")
    return "\n".join([*lines, "}", ""])


def param_text(param):
    """Return a parameter as it is declared, "" if its type is none of our language."""
    if param.get("fields"):
        fields = [f"{f['name']} : {f['type']}" for f in param["fields"] if known(f["type"])]
        return f"out {param['name']} : {{ {', '.join(fields)} }}" if fields else ""
    return f"{param['dir']} {param['name']} : {param['type']}" if known(param["type"]) else ""


def known(type_):
    """Tell whether our language has a type: recurring times and the like it has not."""
    try:
        get_language("thingtalk").bodies.parse_type(type_)
    except GenieError:
        return False
    return True


def library_of(*sources):
    """Return the library of JSON files of classes; classes that cannot be read are left out."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            with source.open(encoding="utf-8") as lines:
                skills_of((json.loads(line) for line in lines), Path(folder))
        library = load_library([folder], skip_broken=True)
    for skipped in library.skipped:
        print(f"  left out: {skipped.path.name}: {skipped.problems[0].message}")
    return library


def convert(name, files):
    """Return (converted, reasons, seconds of CPU) over some files."""
    converted, reasons = 0, Counter()
    start = time.process_time()
    for file in files:
        for row in find_reader(name)(str(file), ReadOptions(name)):
            if isinstance(row, LeftRow):
                reasons[row.reason] += 1
            else:
                converted += 1
    return converted, reasons, time.process_time() - start


def show(title, converted, reasons, seconds):
    """Print one line for the files, and one for each reason."""
    total = converted + reasons.total()
    rate = total / seconds if seconds else 0
    print(f"{title:58} {converted:7,} of {total:7,}  {converted / total:6.1%}  {rate:8,.0f} /CPU s")
    for reason, count in reasons.most_common(12):
        print(f"{'':60}{count:7,}  {reason}")


def of_rows(rows, library):
    """Return (well-typed, reasons, seconds) of primitive templates, read as our language."""
    sound, reasons = 0, Counter()
    start = time.process_time()
    for row in rows:
        bodies = [row["program"]]
        if row["kind"] == "program":  # ThingTalk 2: `now` and `notify` go without saying
            bodies += [f"now => {row['program']}", f"now => {row['program']} => notify"]
        found = [problem_of(row, body, library) for body in bodies]
        if all(found):
            reasons[found[0]] += 1
        sound += not all(found)
    return sound, reasons, time.process_time() - start


def problem_of(row, body, library):
    """Return what is wrong with the body of a template, or ""."""
    told = ", ".join(f"{name} : {type_}" for name, type_ in row["params"].items())
    text = f"dataset @a.b {{ {row['kind']} ({told}) := {body}; }}"
    try:
        [dataset] = parse_library(text, file="templates")
    except GenieError as error:
        return f"cannot be read ({error.problems[0].code})"
    problems = check_example(with_signature_types(dataset.examples[0], library), library)
    return f"does not type-check ({problems[0].code})" if problems else ""


def of_folder(folder):
    """Return (well-typed, reasons, seconds) of the templates of real skills."""
    start = time.process_time()
    found = convert_templates(load_library([folder], skip_broken=True))
    reasons = Counter({"does not type-check": found.examples - found.sound})
    return found.sound, reasons, time.process_time() - start


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    thingpedia = library_of(options.folder / "thingpedia" / "skills.jsonl")
    if "thingpedia".startswith(options.only):
        name = "thingpedia/primitive_templates.jsonl"
        with (options.folder / name).open(encoding="utf-8") as lines:
            show(f"{name}, well-typed", *of_rows(map(json.loads, lines), thingpedia))
        show("thingpedia_tt, well-typed", *of_folder(options.folder / "thingpedia_tt"))
    for name, pattern in FILES:
        if not pattern.startswith(options.only):
            continue
        show(pattern, *convert(name, sorted(options.folder.glob(pattern))))


if __name__ == "__main__":
    main()
