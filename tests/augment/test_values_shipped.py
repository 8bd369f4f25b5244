"""The shipped value lists: where they are from, how they are written, what they never hold."""

import re
from pathlib import Path

from genie_dp.augment.values import DATA, GENERIC, kinds, kinds_by_use, shipped_list, shipped_rows
from genie_dp.locale import locale_from
from genie_dp.skills.words import join_tokens

KINDS = sorted(kinds())
DATA_OF_TESTS = Path(__file__).parents[1] / "data" / "values"
FILES = sorted(name for name, kind in kinds().items() if not kind.parts)
LICENCES = {"Apache-2.0", "CC-BY-4.0", "Unicode-3.0", "public domain", "MIT"}
# Texts of several sentences may be long, names may not.
LONG = {"email_body": 32, "news_summary": 26, "description": 20}
ODD = re.compile(r"[^a-z0-9 .,:!?&@#/+_'%-]")
# Never to be said by a product; plain, so that it can be read and extended.
BLOCKED = frozenset((DATA_OF_TESTS / "blocked.txt").read_text().split())
# Facts in which a blocked word is a name.
NAMES_OF_FACTS = {
    "person_first_name", "person_last_name", "person_full_name", "city", "county", "stock",
    "airport", "airport_code", "stock_ticker",
}  # fmt: skip


def test_there_are_at_least_49_kinds_and_20_000_values():
    assert len(FILES) >= 49
    assert sum(len(shipped_list(kind)) for kind in FILES) >= 20_000
    assert sum(len(shipped_list(kind)) for kind in FILES if kind != "city") >= 20_000


def test_every_row_names_its_source_and_a_licence_that_is_credited():
    credits = (DATA / "LICENCES.md").read_text(encoding="utf-8")
    for kind in FILES:
        rows = shipped_rows(kind)
        assert all(row.source and row.weight > 0 for row in rows)
        assert {row.licence for row in rows} <= LICENCES
        assert all(f"`{kind}`" in credits for row in rows if "genie_dp," not in row.source)
        assert len({row.value for row in rows}) == len(rows) >= 40


def test_values_are_short_tokens_without_quotes_odd_characters_or_rude_words():
    vowels = "amazing|awesome|orange|apple|oven|office|eight|old|empty|open|hour"
    article = re.compile(rf"\ba (?:{vowels})\b")
    for kind in FILES:
        texts = shipped_list(kind).texts
        assert [v for v in texts if join_tokens(v) != v] == []
        assert [v for v in texts if ODD.search(v) or v != v.strip()] == []
        assert [v for v in texts if len(v.split()) > LONG.get(kind, 15)] == []
        if kind not in NAMES_OF_FACTS:
            assert [v for v in texts if BLOCKED & set(v.split()) or article.search(v)] == []


def test_phones_are_those_set_aside_for_fiction():
    assert all(re.fullmatch(r"\+1\d{3}55501\d\d", v) for v in shipped_list("phone_number").texts)


def test_addresses_on_the_net_belong_to_nobody():
    host = re.compile(r"(?:^|[@./])example\.(?:com|org)(?:/|$)")
    for kind in ("email_address", "url", "domain"):
        assert [v for v in shipped_list(kind).texts if not host.search(v)] == []


def test_cities_have_a_place_on_earth():
    rows = shipped_rows("city")
    places = [(float(r.place[0]), float(r.place[1])) for r in rows if r.place]
    assert len(places) == len(rows)
    assert all(-90 <= lat <= 90 and -180 <= lon <= 180 for lat, lon in places)


def test_every_use_leads_to_one_kind():
    uses = [use for kind in kinds().values() for use in kind.serves]
    assert sorted({use for use in uses if uses.count(use) > 1}) == []
    assert not set(uses) & set(kinds()), "a kind serves its own name already"
    assert kinds_by_use()["tt:song_title"].name == "song"


def test_kinds_of_parts_hold_all_values_of_their_parts():
    joined = [kind for kind in kinds().values() if kind.parts]
    assert joined
    for kind in joined:
        assert set(shipped_list(kind.name).texts) == {
            text for part in kind.parts for text in shipped_list(part).texts
        }


def test_every_file_belongs_to_a_kind():
    files = {path.name.split(".")[0] for path in DATA.iterdir()}
    assert files == {*FILES, "kinds", "LICENCES"}
    assert GENERIC in FILES


def test_free_texts_are_of_one_word_as_well():
    # A parser that never saw a text of one word leaves it out: "feed the reef tank".
    texts = shipped_list(GENERIC).texts
    alone = [text for text in texts if " " not in text]
    assert 0.1 < len(alone) / len(texts) < 0.3
    # These are said around texts; "will" is somebody's name, too.
    assert locale_from("en").words.function_words.intersection(alone) <= {"will"}
