"""Invented rows of a small shop and lamp, for tests of data sets."""

import json
import random

from genie_dp.records import Example, Slot
from genie_dp.rows import to_json

SHOP, LAMP, MAIL = "@com.example.shop.orders", "@com.example.lamp.dim", "@com.example.mail.send"


def row(id, utterance="list orders", program=f"now => {SHOP} => notify", **more):
    more.setdefault("functions", tuple(t for t in program.split(" ") if t.startswith("@")))
    return Example(id, utterance, program, **more)


def write(path, rows):
    path.write_text("".join(to_json(one) + "\n" for one in rows), encoding="utf-8")
    return path


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def families(number, *, seed=0):
    """Return rows of so many families: a sentence, its paraphrases, augmented copies of all."""
    rng = random.Random(seed)
    rows = []
    functions = [f"@com.example.c{i}.f{i % 7}" for i in range(12)]
    for place in range(number):
        first, second = rng.choice(functions), rng.choice([*functions, ""])
        program = f"now => {first} param:text:String = QUOTED_STRING_0"
        if second:
            program = f"monitor ( {second} ) => {program.removeprefix('now => ')}"
        slots = {"QUOTED_STRING_0": Slot("String", f"{first}:text")}
        top = row(f"S{place}", f"do it {place} with QUOTED_STRING_0", program, slots=slots)
        rows.append(top)
        for number_ in range(rng.randrange(3)):
            name = f"P{place}.{number_}"
            said = f"please do {place} {number_} QUOTED_STRING_0"
            rows.append(row(name, said, program, source="paraphrase", parent=top.id, slots=slots))
        for one in [r for r in rows if top.id in (r.id, r.parent)]:
            for copy in range(rng.randrange(3)):
                value = f"word{rng.randrange(40)}"
                rows.append(
                    row(
                        f"R{one.id}-{copy}",
                        one.utterance.replace("QUOTED_STRING_0", value),
                        program.replace("QUOTED_STRING_0", f'" {value} "'),
                        source="augmented",
                        parent=one.id,
                    )
                )
    return rows
