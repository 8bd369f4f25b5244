"""Values with a shape of their own: quotes, e-mail, links, hashtags, user names, files, phones."""

import re
from collections.abc import Iterator

from genie_dp.languages.thingtalk.tokens import quote_words
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens

_ANY_QUOTE = re.compile("[\"'“«‘„»‚›‹]")
_QUOTES = re.compile(
    r"„([^„“”\"\n]{1,500})[“”\"]|»([^«»\n]{1,500})«|‚([^‚‘’\n]{1,200})[‘’](?!\w)"
    r"|›([^‹›\n]{1,200})‹|‹([^‹›\n]{1,200})›"
    r'|(?<!\w)"([^"\n]{1,500})"|“([^“”\n]{1,500})”|«([^«»\n]{1,500})»'
    r"|(?<!\w)'([^'\n]{1,200})'(?!\w)|‘([^‘’\n]{1,200})’(?!\w)"
)
_MAIL = re.compile(r"[\w.+'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}", re.IGNORECASE)
_DOMAINS = "com|org|net|edu|gov|io|ai|app|dev|info|biz|tv|me|co|us|uk|de|fr|es|it|nl|ca|au|jp|eu|ch"
_LINK = re.compile(
    r"(?:https?://|www\.)[^\s\"<>]{1,500}"
    rf"|(?:[a-z0-9][a-z0-9-]{{0,62}}\.){{1,4}}(?:{_DOMAINS})(?![\w@-])"
    r"(?::\d{2,5}(?!\w))?(?:[/?#][^\s\"<>]{0,500})?",
    re.IGNORECASE,
)
_AFTER_LINK = ".,;:!?)'’"
_FILES = (
    "pdf|docx?|xlsx?|pptx?|txt|md|csv|tsv|json|ya?ml|xml|html?|jpe?g|png|gif|svg|bmp|webp|mp3|mp4|wav|"
    "mov|avi|mkv|flac|m4a|zip|gz|tar|rar|7z|py|js|ts|java|c|cpp|h|rs|go|rb|sh|ipynb|tex|odt|ods|odp|rtf|"
    "log|key|pages|numbers|psd|ai|sql|db|ini|cfg|toml|epub|ics|eml|bak|iso|exe|apk"
)
_PATH = re.compile(
    rf"(?:~|\.{{1,2}})?(?:/[\w.+-]{{1,100}}){{1,20}}/?"
    rf"|[a-z]:\\[^\s\"<>|]{{1,200}}"
    rf"|(?:[\w.+-]{{1,100}}/){{0,20}}[\w+-][\w.+-]{{0,100}}\.(?:{_FILES})(?![\w@/-])",
    re.IGNORECASE,
)
# What has a shape has one of these, or stands before one.
_SHAPED = re.compile(r"[@#~./:]")
_INITIALS = re.compile(r"[a-z]\.[a-z] ?\.(?!\w)", re.IGNORECASE)
_NAME = re.compile(r"@(\w+(?:[.-]\w+)*)")
_TAG = re.compile(r"#(\w*[^\W\d]\w*(?:-\w+)*)")
_NORTH_AMERICAN = re.compile(
    r"(?:\+?1[ .-]{0,2})?(?:\( ?([2-9]\d{2}) ?\)|([2-9]\d{2}))[ .-]{0,2}"
    r"([2-9]\d{2})[ .-]?(\d{4})(?![\d-]|\.\d)",
    re.ASCII,
)
_PLUS = re.compile(r"\+\d")
_LIKE_A_PHONE = re.compile(r"\d[\d ().-]{5,}\d")
_NANP = frozenset(("US", "CA"))


def marks(s: TextTokens) -> Iterator[ValueCandidate]:
    """Yield the candidates that their shape identifies."""
    for match in _QUOTES.finditer(s.text) if _ANY_QUOTE.search(s.text) else ():
        text = next(group for group in match.groups() if group is not None).strip()
        is_masked = any(
            masked and match.start() <= start < match.end()
            for start, masked in zip(s.starts, s.masked, strict=True)
        )
        if text and not is_masked:
            yield ValueCandidate(match.start(), match.end(), "QUOTED_STRING", quote_words(text))
    for i, word in enumerate(s.words) if _SHAPED.search(s.text) else ():
        if s.masked[i] or (i and s.text[s.starts[i] - 1] in "@#/\\"):
            continue
        if _SHAPED.search(s.text, s.starts[i], s.ends[i] + 1):
            yield from _shapes_at(s, i, word)
    yield from _phones(s)


def is_shaped(word: str) -> bool:
    """Return whether a part of a text may be of a value with a shape of its own, beside quotes."""
    return _SHAPED.search(word) is not None


def entity(text: str, kind: str) -> str:
    """Return an entity in the token form of programs.

    >>> entity("bob", "tt:username")
    '" bob " ^^tt:username'
    """
    return f"{quote_words(text)} ^^{kind}"


def _shapes_at(s: TextTokens, at: int, word: str) -> Iterator[ValueCandidate]:
    start = s.starts[at]
    first = word[:1]
    # "o'brien@example.com" is cut before the sign.
    is_behind = at > 0 and s.ends[at - 1] == start
    after = s.text[s.ends[at] : s.ends[at] + 2]  # "docs/a.pdf" is cut before "/"
    goes_on = after[:1] in ("/", ":") and after[1:].strip() != ""
    if first == "@" and is_behind and (match := _MAIL.match(s.text, s.starts[at - 1])) is not None:
        value = entity(match[0], "tt:email_address")
        yield ValueCandidate(match.start(), match.end(), "EMAIL_ADDRESS", value)
    elif first == "@" and (match := _NAME.match(s.text, start)) is not None:
        yield ValueCandidate(start, match.end(), "USERNAME", entity(match[1], "tt:username"))
    elif first == "#" and (match := _TAG.match(s.text, start)) is not None:
        yield ValueCandidate(start, match.end(), "HASHTAG", entity(match[1], "tt:hashtag"))
    elif "@" in word and (match := _MAIL.match(s.text, start)) is not None:
        value = entity(match[0], "tt:email_address")
        yield ValueCandidate(start, match.end(), "EMAIL_ADDRESS", value)
    elif ("." in word or "/" in word) and (match := _LINK.match(s.text, start)) is not None:
        text = _trim_link(match[0])
        if len(text) > 4 and "/" in f"{text}/".partition("@")[0]:  # no part of an address
            yield ValueCandidate(start, start + len(text), "URL", entity(text, "tt:url"))
    if (first in "~./" or "." in word or goes_on) and (
        (match := _PATH.match(s.text, start)) is not None and _is_alone(s, start)
    ):
        text = match[0].rstrip(".")
        if _INITIALS.match(s.text, start) is not None:
            return  # "washington, d.c."
        if any(c.isalpha() for c in text):
            yield ValueCandidate(
                start, start + len(text), "PATH_NAME", entity(text, "tt:path_name")
            )


def _trim_link(link: str) -> str:
    """Return a link without the punctuation after it; a bracket that it opened is its own."""
    while link[-1:] in tuple(_AFTER_LINK):
        if link[-1] == ")" and link.count("(") >= link.count(")"):
            break
        link = link[:-1]
    return link


def _is_alone(s: TextTokens, start: int) -> bool:
    return start == 0 or not (s.text[start - 1].isalnum() or s.text[start - 1] in "@/._-")


def _phones(s: TextTokens) -> Iterator[ValueCandidate]:
    if _LIKE_A_PHONE.search(s.text) is None:
        return
    is_nanp = s.locale.region in _NANP
    if is_nanp:
        for start in s.starts:
            match = _NORTH_AMERICAN.match(s.text, start)
            if match is not None and _is_alone(s, start):
                digits = (match[1] or match[2]) + match[3] + match[4]
                value = entity(f"+1{digits}", "tt:phone_number")
                yield ValueCandidate(start, match.end(), "PHONE_NUMBER", value)
    if is_nanp and not _PLUS.search(s.text):
        return
    import phonenumbers

    for phone in phonenumbers.PhoneNumberMatcher(
        s.text, s.locale.region, leniency=phonenumbers.Leniency.POSSIBLE, max_tries=50
    ):
        if phone.raw_string.startswith("+") or phonenumbers.is_valid_number(phone.number):
            number = phonenumbers.format_number(phone.number, phonenumbers.PhoneNumberFormat.E164)
            value = entity(number, "tt:phone_number")
            yield ValueCandidate(phone.start, phone.end, "PHONE_NUMBER", value)
