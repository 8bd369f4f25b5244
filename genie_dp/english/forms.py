"""English: articles, the number and determiner of noun phrases, forms of nouns and verbs.

All functions take and return tokens joined by one space, lower-case, the possessive apart
("nasa 's picture of the day"), except `surface`, which closes the gaps up for display. They guess
from words alone; a template file may overrule every guess. The libraries behind them (inflect for
nouns, lemminflect for verbs) load at the first word that no rule here knows, and every answer is
kept: they take 20 to 50 us a word (reference measurements of November 2026), so grammars ask them
when they are compiled, never per sentence.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any, Literal, cast

from genie_dp.english import lists

Number = Literal["sg", "pl", "mass"]
Sort = Literal["a", "the", "my", "none", "fixed"]

# $x, NUMBER_0, and the private characters that stand for placeholders while rows are made.
_SLOT = re.compile(r"\$\{?[^\W\d]\w*.*|[A-Z][A-Z_]*(?:_[\w.:-]+)?_\d+|[\ue000-\uf8ff]")
_POSSESSIVE = frozenset(("'s", "'"))
_NUMERAL = re.compile(r"\d[\d.,:]*")

# ---------------------------------------------------------------------------- articles


@lru_cache(maxsize=65536)
def article(words: str) -> Literal["a", "an"]:
    """Return the indefinite article for a text, by its first sound.

    >>> [article(w) for w in ("unread email", "unique song", "url", "hour", "8 pm alarm", "suv")]
    ['an', 'a', 'a', 'an', 'an', 'an']
    """
    first = words.split(" ", 1)[0] if words else ""
    if _SLOT.fullmatch(first):
        return "a"
    word = first.lstrip("\"'([{#@$€£").lower()
    vowel = _number_begins_with_vowel(word) if word[:1].isdigit() else _begins_with_vowel(word)
    return "an" if vowel else "a"


def _number_begins_with_vowel(word: str) -> bool:
    # Eight.., eleven, eighteen: 8, 80, 8,500; 11 and 18 alone, in front of thousands, or of a
    # century's years (1100, 1812).
    numeral = _NUMERAL.match(word)
    whole = re.split(r"[.:]", numeral.group() if numeral else word)[0]
    digits = whole.replace(",", "")
    if digits.startswith("8"):
        return True
    if "," not in whole and len(digits) == 4:
        return digits.startswith(("11", "18"))
    return digits.startswith(("11", "18")) and len(digits) % 3 == 2


_YOO = re.compile(
    r"eu|ew(?:e|er)s?$|once\b|one(?:$|[-'’]|s$|self)|ouija|u(?:$|[^a-z])|us(?:$|[abdeiu])|uk"
    r"|ut[aeio]|ubi|ur[aeio]|uvu|uni(?!n(?!t?$)|m|dentif|ssue|roned|ndent)"
)


def _begins_with_vowel(word: str) -> bool:
    letters = re.match(r"[a-z]*", word)
    run = letters.group() if letters else ""
    if run.removesuffix("s") in lists.INITIALISMS or run in lists.INITIALISMS or _is_letters(run):
        return run[0] in lists.VOWEL_LETTERS
    if word.startswith(lists.SILENT_H) and not word.startswith(lists.SOUNDED_H):
        return True
    if re.match("x[^aeiouy]", word):
        return True
    return word[:1] in "aeiouàáâäåæèéêëìíîïòóôöø" and bool(word) and not _YOO.match(word)


def _is_letters(run: str) -> bool:
    """Return whether a word is spelled letter by letter: x (-ray), nfl, html."""
    if not run or run in ("a", "o") or run in lists.ABBREVIATIONS:
        return False
    return len(run) == 1 or not re.search("[aeiouy]", run)


# ------------------------------------------------------------------------ noun phrases


@lru_cache(maxsize=65536)
def split_determiner(words: str) -> tuple[Sort, str]:
    """Return the sort of a noun phrase's determiner and the phrase without it.

    The sort is "fixed", and the phrase whole, where no other determiner can stand: a possessor,
    "all", "this", a pronoun, a placeholder alone.

    >>> split_determiner("my dropbox files"), split_determiner("an hour")
    (('my', 'dropbox files'), ('a', 'hour'))
    >>> split_determiner("unread emails"), split_determiner("nasa 's picture of the day")
    (('none', 'unread emails'), ('fixed', "nasa 's picture of the day"))
    """
    tokens = words.split()
    if not tokens or _is_fixed(tokens):
        return "fixed", words
    sort = lists.ARTICLES.get(tokens[0])
    if sort is None or len(tokens) == 1:
        return "none", words
    return cast("Sort", sort), " ".join(tokens[1:])


def _is_fixed(tokens: list[str]) -> bool:
    first = tokens[0]
    if first in lists.FIXED_DETERMINERS or (first in lists.PRONOUNS and len(tokens) == 1):
        return True
    if is_clause(" ".join(tokens)) or (len(tokens) == 1 and _SLOT.fullmatch(first)):
        return True
    head = tokens[: _head_end(tokens, 1)]
    return any(
        token in _POSSESSIVE and head[position - 1] not in lists.SORTS
        for position, token in enumerate(head)
        if position
    )


@lru_cache(maxsize=65536)
def number_of(words: str) -> Number:
    """Return the number of a noun phrase: "sg", "pl", or "mass" for uncountable nouns.

    >>> [number_of(w) for w in ("my dropbox files", "my latest email", "the weather in $x")]
    ['pl', 'sg', 'mass']
    >>> number_of("files larger than $x"), number_of("the title and the link")
    ('pl', 'pl')
    """
    return _number(words.split(), is_phrase=_is_noun_phrase(words))


def _number(tokens: list[str], *, is_phrase: bool) -> Number:
    if not tokens:
        return "sg"
    start, end = _head(tokens, is_phrase=is_phrase)
    counted = None if _POSSESSIVE & set(tokens[:end]) else _number_by_determiner(tokens)
    if counted is not None:
        return counted
    if tokens[end - 1] in lists.PARTITIVES and tokens[end : end + 1] == ["of"]:
        return _number(tokens[end + 1 :], is_phrase=is_phrase)
    if _is_pair(tokens[start:end]):
        return "pl"
    return _noun_number(tokens[end - 1])


def _is_determiner(token: str) -> bool:
    return token in lists.ARTICLES or token in lists.FIXED_DETERMINERS


def _number_by_determiner(tokens: list[str]) -> Number | None:
    first, rest = tokens[0], tokens[1:]
    if rest[:1] == ["of"]:
        return None
    if first in lists.PLURAL_DETERMINERS or first in lists.NUMBERS:
        return "pl"
    if first.isdigit():
        return "sg" if first == "1" else "pl"
    # "a couple of songs" are several.
    if rest and first in lists.SINGULAR_DETERMINERS and rest[0] not in lists.PARTITIVES:
        return "sg"
    return None


def _is_pair(tokens: list[str]) -> bool:
    """Return whether the head is two things: "title and link", "the title and the link"."""
    if "and" not in tokens[1:-1]:
        return False
    place = tokens.index("and", 1)
    return tokens[place + 1] in lists.ARTICLES or (place == 1 and len(tokens) == 3)


def _is_noun_phrase(words: str) -> bool:
    """Return whether words look like a noun phrase; `starts_with_verb` is better, but slow."""
    first, second = (*words.split(" ", 2), "", "")[:2]
    if is_clause(words) or is_question(words) or first in lists.VERBS:
        return False
    return second not in lists.AFTER_VERB or _is_determiner(first)


def _head(tokens: list[str], *, is_phrase: bool = True) -> tuple[int, int]:
    """Return where a noun phrase without its determiner begins, and where its head ends.

    Outside noun phrases only the participles of the list follow a head: "gets stuck".
    """
    start = 1 if len(tokens) > 1 and _is_determiner(tokens[0]) else 0
    return start, _head_end(tokens, start + 1, is_phrase=is_phrase)


def _head_end(tokens: list[str], first: int, *, is_phrase: bool = True) -> int:
    """Return where the head noun ends; words before `first` never follow it."""
    for position in range(first, len(tokens)):
        if _is_after_head(tokens, position, is_phrase=is_phrase):
            return position
    return len(tokens)


def _is_after_head(tokens: list[str], position: int, *, is_phrase: bool = True) -> bool:
    token, rest = tokens[position], tokens[position + 1 :]
    after = partial(_is_after_head, tokens, is_phrase=is_phrase)
    if token in lists.PREPOSITIONS or token in lists.RELATIVES or token in lists.SUBJECTS:
        return True
    if rest[:1] == ["than"] or (rest[:1] == ["to"] and token in lists.BEFORE_TO):
        return True  # "files larger than $x", "words similar to $x"
    if token in lists.PARTICIPLES or (is_phrase and _is_participle(token, tokens[position - 1])):
        # "saved posts" but "posts saved by bob", "files shared".
        return not rest or after(position + 1) or _is_determiner(rest[0])
    if token in lists.AFTERWARDS:
        return not rest or after(position + 1)
    if token in lists.BEFORE_TIMES:
        return bool(rest) and rest[0] in lists.TIMES
    if _SLOT.fullmatch(token):
        # "top NUMBER_0 posts" counts, "tweets $x" says which.
        return not rest or after(position + 1)
    return not re.match(r"[\w'&%#@$€£-]", token)


def _is_participle(token: str, before: str) -> bool:
    """Return whether a word may begin an attribute of the noun before it.

    >>> _is_participle("planted", "tree"), _is_participle("leaving", "trains")
    (True, True)
    >>> _is_participle("opening", "job"), _is_participle("meeting", "sales")
    (False, False)
    """
    if token in lists.IRREGULAR_PARTICIPLES:
        return True
    if token.endswith("ed"):
        return len(token) > 3 and not token.endswith("eed") and token not in lists.NOT_PARTICIPLES
    # A word in -ing is a noun as often ("job opening"), unless several things are doing it.
    is_doing = token.endswith("ing") or token in lists.PARTICIPLES_OR_NOUNS
    if not is_doing or token in lists.NOT_PARTICIPLES or before in lists.PLURALS_BEFORE_NOUNS:
        return False
    return _noun_number(before) == "pl"


@lru_cache(maxsize=65536)
def _noun_number(noun: str) -> Number:
    if noun in lists.MASS or noun.rpartition("-")[2] in lists.MASS:
        return "mass"
    if _SLOT.fullmatch(noun) or noun.isdigit():
        return "sg"
    return "pl" if _is_plural(noun) else "sg"


def _is_plural(noun: str) -> bool:
    return _may_be_plural(noun) and (noun in lists.PLURALS or _singular_noun(noun) != noun)


def _may_be_plural(noun: str) -> bool:
    if noun in lists.PLURALS or noun in lists.PLURAL_IN_S:
        return True
    if noun in lists.MASS or noun in lists.SINGULAR_IN_S or noun in lists.SERIES:
        return False
    return noun.endswith("s") and not noun.endswith(("ss", "us", "is"))


# -------------------------------------------------------------------------- noun forms


@lru_cache(maxsize=65536)
def plural(words: str) -> str:
    """Return a noun phrase in the plural: its head changes, "a" goes, "this" becomes "these".

    >>> plural("a day of the week"), plural("my latest email"), plural("the news")
    ('days of the week', 'my latest emails', 'the news')
    """
    return _with_head(words, _plural_noun, {"a": "", "an": "", "this": "these", "that": "those"})


@lru_cache(maxsize=65536)
def singular(words: str) -> str:
    """Return a noun phrase in the singular: its head changes, "these" becomes "this".

    >>> singular("my dropbox files"), singular("people near me"), singular("the status")
    ('my dropbox file', 'person near me', 'the status')
    """
    return _with_head(words, _singular_noun, {"these": "this", "those": "that"})


def _with_head(words: str, change: Callable[[str], str], determiners: dict[str, str]) -> str:
    tokens = words.split()
    if not tokens:
        return words
    start, end = _head(tokens)
    head = change(tokens[end - 1])
    first = [determiners.get(tokens[0], tokens[0])] if start else []
    return " ".join(t for t in [*first, *tokens[start : end - 1], head, *tokens[end:]] if t)


@lru_cache(maxsize=65536)
def _plural_noun(noun: str) -> str:
    if _noun_number(noun) != "sg" or _SLOT.fullmatch(noun):
        return noun
    if noun in lists.IRREGULAR_PLURALS:
        return lists.IRREGULAR_PLURALS[noun]
    if noun in lists.INITIALISMS or (noun.isalpha() and _is_letters(noun)):
        return f"{noun}s"
    return str(_engine().plural_noun(noun) or noun)


@lru_cache(maxsize=65536)
def _singular_noun(noun: str) -> str:
    for singular_form, plural_form in lists.IRREGULAR_PLURALS.items():
        if noun == plural_form:
            return singular_form
    if not _may_be_plural(noun):
        return noun
    answer = _engine().singular_noun(noun)
    return str(answer) if answer else noun


@lru_cache(maxsize=1)
def _engine() -> Any:
    import inflect

    return inflect.engine()


@lru_cache(maxsize=65536)
def possessive(words: str) -> str:
    """Return the possessive of a noun phrase or pronoun.

    >>> possessive("nasa"), possessive("my friends"), possessive("i"), possessive("james")
    ("nasa 's", "my friends '", 'my', "james 's")
    """
    if words in lists.POSSESSIVES:
        return lists.POSSESSIVES[words]
    last = words.rpartition(" ")[2]
    ends_in_plural_s = last.endswith("s") and number_of(words) == "pl" and number_of(last) == "pl"
    return f"{words} '" if ends_in_plural_s else f"{words} 's"


# --------------------------------------------------------------------------- verb forms


@lru_cache(maxsize=65536)
def third_person(words: str) -> str:
    """Return a verb phrase in the third person singular: its first verb changes.

    >>> third_person("turn on the light"), third_person("have an attachment")
    ('turns on the light', 'has an attachment')
    """
    return _with_verb(words, _third_person)


@lru_cache(maxsize=65536)
def gerund(words: str) -> str:
    """Return a verb phrase in its -ing form.

    >>> gerund("set the alarm"), gerund("share a file"), gerund("double-check it")
    ('setting the alarm', 'sharing a file', 'double-checking it')
    """
    return _with_verb(words, _gerund)


@lru_cache(maxsize=65536)
def past_participle(words: str) -> str:
    """Return a verb phrase with its verb as the past participle.

    >>> past_participle("write a note"), past_participle("tag")
    ('written a note', 'tagged')
    """
    return _with_verb(words, _past_participle)


@lru_cache(maxsize=4096)
def past(words: str) -> str:
    """Return a verb phrase in the past tense: its first word changes.

    >>> past("write down"), past("turn on"), past("email")
    ('wrote down', 'turned on', 'emailed')
    """
    verb, space, rest = words.partition(" ")
    participle = past_participle(verb)
    if participle.endswith("ed") and verb != "read":
        return f"{participle}{space}{rest}"
    import lemminflect

    inflected = lemminflect.getInflection(verb, "VBD")
    return f"{inflected[0] if inflected else participle}{space}{rest}"


def _with_verb(words: str, change: Callable[[str], str]) -> str:
    tokens = words.split()
    for position, token in enumerate(tokens):
        if (
            token.isalpha()
            and token.endswith("ly")
            and len(tokens) > 1
            and token not in lists.VERBS_IN_LY
        ):
            continue
        # Of "double-check" and "re-send" the last part is the verb.
        before, hyphen, verb = token.rpartition("-")
        whole = token if token in lists.GERUNDS or not before else verb
        front = "" if whole == token else before + hyphen
        return " ".join([*tokens[:position], front + change(whole), *tokens[position + 1 :]])
    return words


def _third_person(verb: str) -> str:
    if verb in lists.THIRD_PERSON:
        return lists.THIRD_PERSON[verb]
    if re.search(r"(?:[sxz]|ch|sh|[^aeiou]o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _gerund(verb: str) -> str:
    return lists.GERUNDS.get(verb) or _inflection(verb, "VBG")


def _past_participle(verb: str) -> str:
    return lists.PARTICIPLE_OF.get(verb) or _inflection(verb, "VBN")


def _inflection(verb: str, tag: str) -> str:
    import lemminflect

    forms = lemminflect.getInflection(verb, tag)
    return str(forms[0]) if forms else verb


@lru_cache(maxsize=65536)
def starts_with_verb(words: str) -> bool:
    """Return whether the words are a command ("check my inbox") and no noun phrase ("check list").

    >>> starts_with_verb("get my emails"), starts_with_verb("search results for $x")
    (True, False)
    >>> starts_with_verb("list my files"), starts_with_verb("list of files")
    (True, False)
    """
    # Real skills begin commands that ask for data with a comma: ", open $x from dropbox".
    is_request = words.startswith((", ", "please "))
    tokens = words.removeprefix(", ").removeprefix("please ").split()
    if not tokens:
        return False
    first, second = tokens[0], tokens[1] if len(tokens) > 1 else ""
    if first in lists.VERBS:
        return second != "of"
    if first in lists.VERBS_OR_NOUNS:
        is_named = bool(_SLOT.fullmatch(second)) and first not in lists.BEFORE_NAMES
        particle = second in lists.PARTICLES.get(first, ())
        return is_request or is_named or particle or second in lists.AFTER_VERB
    return second in lists.AFTER_VERB and is_only_verb(first)


def is_only_verb(word: str) -> bool:
    """Return whether a word is a verb in the infinitive and nothing else.

    >>> [is_only_verb(word) for word in ("renew", "loan", "renews", "all")]
    [True, False, False, False]
    """
    # No command is in the third person; the dictionary takes a quarter of a second to load.
    is_third_person = word.endswith("s") and not word.endswith("ss")
    if not word.isalpha() or is_third_person or word in ("all", "any", "some", "no"):
        return False
    import lemminflect

    lemmas = lemminflect.getAllLemmas(word)
    return set(lemmas) == {"VERB"} and word in lemmas["VERB"]


def is_clause(words: str) -> bool:
    """Return whether the words are a clause: "if it rains", "what i said".

    >>> is_clause("whether the light is on"), is_clause("my lights")
    (True, False)
    """
    return words.split(" ", 1)[0] in lists.CLAUSES


def is_question(words: str) -> bool:
    """Return whether the words ask with a verb in front: "is this song live".

    >>> is_question("are my lights on"), is_question("my lights")
    (True, False)
    """
    return words.split(" ", 1)[0] in lists.AUXILIARIES


def takes_phrase(before: str) -> bool:
    """Return whether "the title of the news" reads well after these words.

    >>> [takes_phrase(w) for w in ("text", "send an email saying", "send an email with the text")]
    [True, True, False]
    >>> takes_phrase("list the")
    False
    """
    words = before.split()
    if words[-1:] and words[-1] in lists.ARTICLES:
        return False
    return len(words) < 2 or words[-1] not in lists.BEFORE_QUOTES


def takes_pronoun(before: str) -> bool:
    """Return whether "it" reads well after these words, in place of the usual phrase.

    It follows a verb, or a preposition other than "about" and "at".

    >>> [takes_pronoun(w) for w in ("post", "use gmail to forward", "start playing", "reply to")]
    [True, True, True, True]
    >>> [takes_pronoun(w) for w in ("send a message saying", "tell NUMBER_0", "send to bob")]
    [False, False, False]
    """
    *others, last = before.split() or [""]
    if last in lists.BEFORE_SPEECH:
        return False
    may_be_verb = last in lists.VERBS or last in lists.VERBS_OR_NOUNS
    after_to = others[-1:] in (["to"], ["and"]) and may_be_verb
    is_verb = not others or after_to or last.endswith("ing")
    return is_verb or last in lists.PREPOSITIONS or last in lists.CONNECTING


# ----------------------------------------------------------------------------- display

_CLOSES_UP = re.compile(r" ([,.;:!?%)\]}]|'(?:s|re|ve|ll|d|m)?(?= |$)|n't\b)")
_OPENS = re.compile(r"([(\[{$€£]) ")


def surface(tokens: str | Iterable[str]) -> str:
    r"""Return the tokens as people write them, with a capital at the start.

    Text around `~` is one word.

    >>> surface("is the sun ~ room bright")
    'Is the sunroom bright'
    >>> surface('get nasa \'s picture , then say " hello there " .')
    'Get nasa\'s picture, then say "hello there".'
    """
    text = tokens if isinstance(tokens, str) else " ".join(tokens)
    text = re.sub(r'" (.*?) "', r'"\1"', text).replace(" ~ ", "")
    text = _OPENS.sub(r"\1", _CLOSES_UP.sub(r"\1", text))
    return text[:1].upper() + text[1:]
