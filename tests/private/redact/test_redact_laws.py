"""Laws of redaction: what proves itself is found, masks are whole, twice is as good as once."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.redact.detectors import Gazetteer, Phones, Placeholders
from genie_dp.private.redact.duplicates import Duplicates
from genie_dp.private.redact.measure import _above, rate, rate_by_text
from genie_dp.private.redact.patterns import IBAN_LENGTHS, Patterns, is_iban, is_luhn
from genie_dp.private.redact.redactor import Redactor, occurrences
from genie_dp.private.redact.rows import Point, points, sentences
from genie_dp.private.redact.spans import MASK, Finding, Policy, masks, merge_findings

NAMES = Gazetteer("person", ["ann lee", "bob", "Zoë"])
REDACTOR = Redactor(
    (Patterns(), Phones(), Placeholders(), NAMES), Policy("pi", 0.5), Policy("pi_c", 0.1)
)

digits = st.text("0123456789", min_size=12, max_size=18)
between = st.sampled_from(
    ["", " ", "-", ".", "_", "/", "  ", "\u00a0", "\u2009", "\u2011", "\u2013"]
)
plain = st.sampled_from(["", "so ", "it is: ", "(", '"'])
behind = st.sampled_from(["", " ok", ", yes", ").", '"'])
pieces = st.sampled_from(
    [MASK, "<MASK", "MASK>", "Ann Lee", "ann", "bob", "zoë", "my name is Kim Day", "order 4711",
     "555-010-1234", "jo@example.org", "12 Oak Street", "Springfield, IL 62701", "NUMBER_0",
     "4111 1111 1111 1111", "3/4/1999", "-", ",", "Dr.", "is", "10.0.0.1", "\u00df\u0130"]
)  # fmt: skip
texts = st.lists(st.one_of(pieces, st.text(max_size=4)), max_size=8).flatmap(
    lambda parts: st.sampled_from([" ", ""]).map(lambda sign: sign.join(parts))
)


def with_check_digit(body):
    return next(body + digit for digit in "0123456789" if is_luhn(body + digit))


def found(text, kind):
    return {one.place for one in Patterns().find([text])[0] if one.kind == kind}


def grouped(text, sign):
    return sign.join(text[i : i + 4] for i in range(0, len(text), 4))


@given(digits, between, plain, behind)
def test_a_card_number_is_found_wherever_it_stands_alone(body, sign, before, after):
    number = grouped(with_check_digit(body), sign)
    assert (len(before), len(before) + len(number)) in found(before + number + after, "card")


@given(digits, st.integers(1, 9), plain, behind, st.sampled_from("aZ9é"))
def test_a_number_inside_a_word_or_with_a_wrong_check_digit_is_no_card(
    body, more, before, after, letter
):
    right = with_check_digit(body)
    wrong = right[:-1] + str((int(right[-1]) + more) % 10)
    assert not found(before + wrong + after, "card")
    assert not found(f"x{right}{letter}", "card")


@st.composite
def ibans(draw):
    country = draw(st.sampled_from(sorted(IBAN_LENGTHS)))
    size = IBAN_LENGTHS[country] - 4
    body = draw(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=size, max_size=size))
    rest = int("".join(str(int(letter, 36)) for letter in body + country + "00")) % 97
    return f"{country}{98 - rest:02}{body}"


@given(ibans(), st.sampled_from(["", " ", "\u00a0", "\u202f"]), st.booleans(), plain, behind)
def test_an_iban_is_found_and_one_with_a_changed_digit_is_not(iban, sign, lower, before, after):
    text = grouped(iban.lower() if lower else iban, sign)
    assert is_iban(iban)
    assert (len(before), len(before) + len(text)) in found(before + text + after, "iban")
    changed = iban[:2] + f"{(int(iban[2:4]) + 1) % 100:02}" + iban[4:]
    assert not found(before + grouped(changed, sign) + after, "iban")


@pytest.mark.parametrize(
    "iban",
    ["BI4210000100010000332045181", "DJ2100010000000154000100186", "FK88SC123456789012",
     "HN88CABF00000000000250005469", "MN121234123456789123", "NI45BAPR00000013000003558124",
     "OM810180000001299123456", "RU0304452522540817810538091310419", "SO211000001001000100141",
     "YE15CBYE0001018861234567891234"],
)  # fmt: skip
def test_examples_of_the_registry_are_ibans(iban):
    assert is_iban(iban)


@given(
    st.ip_addresses().map(str).filter("::".__ne__)
    | st.sampled_from(["::1", "fe80::", "::ffff:10.0.0.1"]),
    st.sampled_from(["", "ip:", "IP: ", "(", "[", "at "]),
    st.sampled_from(["", ".", ": down", ",", ")", "]:80", "/64"]),
)
def test_an_address_is_found_whatever_label_or_port_is_beside_it(address, before, after):
    assert (len(before), len(before) + len(address)) in found(before + address + after, "ip")


@given(st.ip_addresses(v=4).map(str), st.integers(1, 65535))
def test_a_port_hides_no_address_and_colons_alone_are_none(address, port):
    assert found(f"{address}:{port}", "ip") == {(0, len(address))}
    assert not found("map :: a ::: b", "ip")


@pytest.mark.parametrize(
    "secret",
    [
        "4111111111111111", "4111 1111 1111 1111", "GB82WEST12345698765432", "536-90-4399",
        "536.90.4399", "536904399", "10.0.0.1", "jo@example.org", "jo@localhost", "12/05/1999",
        "1999-12-05T10:00:00Z", "12345678", "AB12CD9", "12 Main Street, Springfield, IL 62704",
    ],
)  # fmt: skip
@given(st.sampled_from("_-*(/#=:,'\"~|") | st.just(""), st.sampled_from("_-*)/#=:,.'\"~|"))
def test_signs_beside_a_secret_do_not_hide_it(secret, before, after):
    made = REDACTOR.redact([Point(f"so {before}{secret}{after} ok")])[0]
    assert made.part == "private"
    assert secret not in made.point.utterance
    assert MASK in made.point.utterance


@given(st.integers(100, 10**9).map(str), st.text("aé\u7801_-", max_size=3))
def test_digits_inside_of_words_are_not_public(number, sign):
    assert REDACTOR.redact([Point(f"so {sign}{number}{sign} ok")])[0].part == "private"


@pytest.mark.parametrize("sign", [":", "ab:", "a.", "a-", "a@", "'", "1 ", "unit ", "born on "])
def test_long_rows_of_signs_that_are_nothing_end(sign):
    # Where each place is tried with each other one, this takes days.
    assert len(Patterns().find([sign * (12_000 // len(sign)) + "g"])) == 1


@pytest.mark.parametrize("detector", REDACTOR.detectors, ids=lambda detector: detector.name)
@given(texts, st.lists(texts, max_size=2))
def test_every_detector_keeps_to_its_contract(detector, text, others):
    together = detector.find([*others, text])
    assert len(together) == len(others) + 1
    assert together[-1] == detector.find([text])[0]
    assert all(0 <= one.start < one.end <= len(text) for one in together[-1])
    assert {one.detector for one in together[-1]} <= {detector.name}


@given(texts, st.sampled_from(["thingtalk", "sexpr"]))
def test_what_was_redacted_stays_as_it_is(text, language):
    for point in (Point(text), Point(text, f'say ( " {text} " )', language, (("user", text),))):
        once = REDACTOR.redact([point])[0]
        again = REDACTOR.redact([once.point])[0]
        assert again.point == once.point
        assert again.part == once.part


@given(texts)
def test_no_mask_is_cut_and_none_is_lost(text):
    after = REDACTOR.text(text)
    # What stays of the text, between masks, is what was there between them.
    rest = ".*?".join(map(re.escape, after.split(MASK)))
    assert re.fullmatch(rest, text, re.DOTALL)
    assert len(masks(after)) >= bool(masks(text))


@given(texts)
def test_no_masked_value_is_left_anywhere_in_the_row(text):
    point = Point(text, f"[IN:SAY [SL:TEXT {text} ] ]", "sexpr", (("note", f"of {text}"),))
    one = REDACTOR.redact([point])[0]
    values = {text[a:b] for a, b in one.places[0]}
    values = {v.replace(MASK, " ") for v in values}
    for left in one.point.texts:
        assert not list(occurrences(left.replace(MASK, "\n"), values - {" "}))


@given(texts, st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_takes_all_that_a_higher_one_takes(text, one, other):
    pieces = [x for d in REDACTOR.detectors for x in d.find([text])[0]]
    low, high = (Policy("p", score).taken(text, pieces) for score in sorted((one, other)))
    assert set(high) <= set(low)
    covered = {i for a, b in merge_findings(text, low) for i in range(a, b)}
    assert {i for x in high for i in range(x.start, x.end)} <= covered | {
        i for a, b in masks(text) for i in range(a, b)
    }


@given(texts)
def test_a_row_is_public_only_without_masks_and_without_findings(text):
    one = REDACTOR.redact([Point(text)])[0]
    caught = REDACTOR.conservative.taken(text, one.found[0])
    assert (one.part == "public") == (MASK not in one.point.utterance and not caught)
    if one.part == "public":
        assert one.point.utterance == text


def test_a_conservative_policy_that_takes_less_is_refused():
    for conservative in (Policy("pi_c", 0.9), Policy("pi_c", 0.1, frozenset(["email"]))):
        with pytest.raises(GenieError, match="E001"):
            Redactor((), Policy("pi", 0.5), conservative)
    Redactor((), Policy("pi", 0.5), Policy("pi_c", 1.0, every_text=True))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9), st.sampled_from("ab"))))
def test_places_are_in_order_and_apart(given):
    text = "x" * 30
    places = merge_findings(text, [Finding(a, a + n, kind, 1.0, "d") for a, n, kind in given])
    covered = {i for a, n, _ in given for i in range(a, a + n)}
    assert {i for a, b in places for i in range(a, b)} == covered
    assert all(x[1] < y[0] for x, y in zip(places, places[1:], strict=False))


FIRST = "please remind me to water the plants on the balcony every evening"
same_points = st.builds(
    Point,
    st.sampled_from(["a b", "c d", ""]),
    st.sampled_from([None, "p", ""]),
    st.sampled_from(["sexpr"]),
    st.sampled_from([(), (("user", "1"),), (("user", "2"),)]),
)


def later(points_, *settings_, **more):
    duplicates = Duplicates(*settings_, **more)
    for point in points_:
        duplicates.add(point)
    return duplicates.later().tolist()


@given(st.lists(same_points))
def test_later_equal_points_are_duplicates_and_no_first_one(given):
    assert later(given) == [point in given[:i] for i, point in enumerate(given)]


def test_alike_points_are_duplicates_and_others_are_not():
    texts_ = (FIRST, "turn on the lights", FIRST + " ok", FIRST.upper(), "play some jazz")
    assert later(map(Point, texts_), 0.8) == [False, False, True, True, False]


alike = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from([FIRST, FIRST + " ok", FIRST + " or not", FIRST[7:], "no", "so FIRST"]),
)


@given(st.lists(alike, max_size=12))
def test_alike_points_of_a_unit_are_found_as_if_there_were_no_other_unit(given):
    def flags(pairs):
        points_ = (Point(text, fields=(("user", unit),)) for unit, text in pairs)
        return later(points_, 0.8, unit_field="user")

    whole = flags(given)
    for unit in "abc":
        own = [flag for (name, _), flag in zip(given, whole, strict=True) if name == unit]
        assert own == flags([pair for pair in given if pair[0] == unit])


def test_memory_of_duplicates_is_bytes_a_point_and_no_objects():
    duplicates = Duplicates(0.8)
    for i in range(5000):
        duplicates.add(Point(f"{i * 7919} is the number of sentence {i} of this file"))
    duplicates._hash()
    kept = len(duplicates._digests) + len(duplicates._texts) + len(duplicates._keys)
    # 16 of the hash, 128 of keys, and the text.
    assert kept / 5000 < 16 + 128 + 60
    assert duplicates._waiting == []


@given(st.lists(st.sampled_from(["I am Ann.", "Call Dr. Lee!", "It is 3.5 km.", "Ok?", "\n"])))
def test_no_letter_is_lost_by_splitting_and_a_wrapped_sentence_is_one_point(parts):
    text = " ".join(parts)
    assert " ".join(sentences(text)).split() == text.split()
    lines = ["My name is Ann", "Lee. I live at", "12 Oak St. in York.", "", "Bye."]
    found = ["My name is Ann Lee.", "I live at 12 Oak St. in York.", "Bye."]
    assert list(points(lines, "sentence")) == found


@given(st.integers(0, 60), st.integers(1, 60))
def test_intervals_are_exact(found_, of):
    found_ = min(found_, of)
    r = rate(found_, of)
    assert r.low <= found_ / of <= r.high
    if found_:
        assert _above(found_, of, r.low) == pytest.approx(0.025)
    if found_ < of:
        assert 1 - _above(found_ + 1, of, r.high) == pytest.approx(0.025)
    # Clopper and Pearson, 10 of 100 at 95 %: 0.0490 to 0.1762 (R: binom.test(10, 100)).
    assert (round(rate(10, 100).low, 4), round(rate(10, 100).high, 4)) == (0.049, 0.1762)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_secrets_of_one_text_do_not_narrow_an_interval(pairs):
    counts = [(min(pair), max(pair)) for pair in pairs]
    r = rate_by_text(counts)
    assert (r.found, r.of) == (sum(map(min, pairs)), sum(map(max, pairs)))
    apart = rate(r.found, r.of)
    assert r.low <= apart.low <= apart.high <= r.high
    again = rate_by_text([(5 * some, 5 * of) for some, of in counts])
    assert (again.low, again.high) == (r.low, r.high)
