"""Random tools, and random programs that call them."""

import json
from decimal import Decimal

from hypothesis import strategies as st

from genie_dp.languages.calls import ast
from genie_dp.languages.calls.tools import read_tools
from tests.golden import DATA

HOME = (DATA / "calls" / "home.json").read_text(encoding="utf-8")


def home():
    return read_tools({"home.json": HOME})


NAMES = st.sampled_from(["a", "b-1", "the id", "größe", "x.y", "$set", "NUMBER_0", "date"])
WORDS = ["red", "blue", "two", "it's", "5", "a.b", "NUMBER_0", "$1", "true", "é", "(", "=>"]
_TEXTS = {"type": "string"}
_LEAVES = [
    _TEXTS,
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "time"},
    {"type": "string", "format": "duration"},
    {"type": "string", "format": "email"},
    {"type": "string", "x-entity": "room"},
    {"type": "number", "exclusiveMinimum": 0},
    {"type": "integer", "minimum": -3, "maximum": 9},
    {"type": "number", "multipleOf": 0.5, "exclusiveMaximum": 9},
    {"type": "string", "minLength": 4, "maxLength": 9},
    {"type": "string", "pattern": "^[A-Z]+( [a-z]+)?$"},
    {"type": "boolean"},
    {"enum": ["on", "very hot", "2", 3, True, "NUMBER_0"]},
    {"type": ["integer", "null"]},
    {"type": "string", "default": "red"},
]


def _inner(children):
    lists = st.builds(
        lambda item, fewest: {"type": "array", "items": item, "minItems": fewest},
        children, st.integers(0, 2),
    )  # fmt: skip
    unions = st.lists(children, min_size=2, max_size=3).map(lambda options: {"anyOf": options})
    return lists | objects(children) | unions.filter(_begin_apart)


def _begin_apart(union):
    """Of a union JSON, and a decoder, know the first list, object and text only."""
    text = json.dumps(union)
    return all(text.count(f'"{word}"') < 2 for word in ("array", "object", "string", "anyOf"))


def objects(children):
    return st.builds(
        lambda fields, required: {
            "type": "object",
            "properties": fields,
            "required": [name for name in fields if name in required],
        },
        st.dictionaries(NAMES, children, max_size=3),
        st.sets(NAMES, max_size=3),
    )


schemas = st.recursive(st.sampled_from(_LEAVES), _inner, max_leaves=4)
tool_names = st.sampled_from(["f", "get_it", "a b", "math.sum", "Über-x"])
tools = st.dictionaries(tool_names, st.tuples(objects(schemas), st.none() | objects(schemas)),
                        min_size=1, max_size=3)  # fmt: skip


def library_of(given):
    """Return the library of tools: name -> schemas of parameters and of the result."""
    shapes = [
        {"name": name, "parameters": shape} | ({"outputSchema": result} if result else {})
        for name, (shape, result) in given.items()
    ]
    return read_tools({"tools.json": json.dumps(shapes)})


def value_of(type_, rng):
    """Return a value of a type, in the form that `canonical` gives it at times."""
    if type_.is_nullable and rng.random() < 0.2:
        return ast.Flag(None)
    match type_.sort:
        case "union":
            return value_of(rng.choice(type_.options), rng)
        case "array":
            count = type_.fewest_items + rng.randrange(2)
            return ast.Array(tuple(value_of(type_.item, rng) for _ in range(count)))
        case "object":
            return ast.Record(arguments_of(type_.fields, rng))
        case "enum":
            return rng.choice(type_.values)
        case "boolean":
            return ast.Flag(rng.random() < 0.5)
        case "null":
            return ast.Flag(None)
        case "number":
            return ast.Number(Decimal(rng.randint(1, 8)))
        case _:
            return text_of(type_, rng)


def text_of(type_, rng):
    match str(type_.type):
        case "Date":
            clock = "T17:00:00" if type_.has_clock else ""
            return rng.choice([ast.Moment("date", f"2027-03-14{clock}"), ast.Slot("DATE_0")])
        case "Time":
            return ast.Moment("time", "17:00:00")
        case "Measure(ms)":
            return rng.choice([ast.Moment("duration", "PT1H30M"), ast.Slot("DURATION_1")])
        case "Entity(tt:email_address)":
            name = ast.Name("a@b.org", "tt:email_address")
            return rng.choice([name, ast.Slot("EMAIL_ADDRESS_0")])
        case "Entity(room)":
            return ast.Name(" ".join(rng.choices(WORDS, k=2)), "room")
    if type_.limits.is_of_texts:
        return ast.Text(rng.choice(["blue", "red blue"]))
    return ast.Text(" ".join(rng.choices(WORDS, k=rng.randint(1, 3))))


def arguments_of(fields, rng):
    chosen = [f for f in fields if f.is_required or rng.random() < 0.5]
    rng.shuffle(chosen)
    return tuple(ast.Argument(f.name, value_of(f.type, rng)) for f in chosen)


def program_of(library, rng):
    steps, called = [], []
    for _ in range(rng.randint(1, 3)):
        step = []
        for _ in range(rng.randint(1, 2)):
            tool = rng.choice(list(library.tools.values()))
            arguments = arguments_of(tool.parameters, rng)
            if called and arguments and rng.random() < 0.5:
                number = rng.randint(1, len(called))
                if library.tools[called[number - 1]].result is None:  # anything
                    first = ast.Argument(arguments[0].name, ast.Reference(number, ("id", 0)))
                    arguments = (first, *arguments[1:])
            step.append(ast.Call(tool.name, arguments))
        called += [call.name for call in step]
        steps.append(tuple(step))
    return ast.Program(tuple(steps))
