"""The words and keys that noise is made of. All of general English, none from a data set."""


def _phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, which commas and line ends part."""
    return tuple(phrase.strip() for phrase in text.replace("\n", ",").split(",") if phrase.strip())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Before any sentence.
GREETINGS = _phrases("""
    hi, hey, hello, ok, okay, so, um, uh, well, alright, yo, hey there, hi there, ok so, so um
    hey listen, listen, good morning, good evening, excuse me, hmm, oh, ah, sorry, sorry but
    hey assistant, hello assistant, dear assistant, one more thing, actually, by the way, oh and
    ok then, alright then
""")

# Before a sentence that begins with what to do.
REQUESTS = _phrases("""
    please, can you, could you, can you please, could you please, would you, will you, kindly
    would you please, i want you to, i need you to, i would like you to, i'd like you to, just
    please just, go ahead and, hey can you, hey could you, hey please, ok please, if you can
    i was wondering if you could, do me a favor and, you can, please can you, please could you
    hi can you, hi could you please, i wish you would, may i ask you to, if possible
    when you have a moment
""")

# After any sentence.
ENDINGS = _phrases("""
    please, thanks, thank you, pls, plz, thx, please and thanks, thank you very much, thanks a lot
    thanks in advance, many thanks
""")

PLEASES = frozenset(("please", "pls", "plz", "please and thanks"))

# After a sentence that begins with what to do; the second ones want it done at once.
COMMAND_ENDINGS = _phrases("""
    if possible, if you can, when you can, will you, would you, ok, okay, for me, cheers
    that 's all, that is it, and that 's it
""")
AT_ONCE = _phrases("now, right now, asap, as soon as you can, right away")
# A command with one of these is to be done later, or again and again.
LATER = _words("""
    when whenever if every each once until at daily hourly weekly monthly moment minute second
    instant soon time whilst while after before
""")
# What the tags above would say again.
POLITE = frozenset(("you", "me", "please", "thanks", "thank"))

# Between two words, where people stop to think: before a small word that begins a phrase.
HESITATIONS = _phrases("um, uh, er, erm, hmm, uhm")
PAUSES = _words("""
    a an the my our your his her their any all some and or but when whenever if that which who whose
    where with from about for by of until after before to
""")

ARTICLES = frozenset(("a", "an", "the"))
# "once a day", "half an hour", "such a song"; "a few", "a lot", "the same"; "the moment it rains".
BEFORE_COUNTED = frozenset(("once", "twice", "times", "half", "such", "what", "many", "quite"))
AFTER_COUNTED = frozenset(
    ("few", "lot", "bit", "couple", "dozen", "hundred", "thousand", "same", "moment", "instant")
)
PUNCTUATION = frozenset((",", ".", "?", "!", ";", ":", "..."))

# The keys beside each key of an American keyboard.
NEIGHBOURS = {
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj",
    "i": "uojk", "o": "ipkl", "p": "ol", "a": "qwsz", "s": "weadzx", "d": "ersfxc", "f": "rtdgcv",
    "g": "tyfhvb", "h": "yugjbn", "j": "uihknm", "k": "iojlm", "l": "opk", "z": "asx", "x": "sdzc",
    "c": "dfxv", "v": "fgcb", "b": "ghvn", "n": "hjbm", "m": "jkn",
}  # fmt: skip

_UNITS = _phrases("""
    zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen
    fourteen, fifteen, sixteen, seventeen, eighteen, nineteen
""")
_TENS = _phrases("twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety")


def in_words(number: int) -> str:
    """Return a whole number from 0 to 100 in words.

    >>> in_words(7), in_words(30), in_words(42), in_words(100)
    ('seven', 'thirty', 'forty two', 'one hundred')
    """
    if number == 100:
        return "one hundred"
    if number < 20:
        return _UNITS[number]
    tens, units = divmod(number, 10)
    return f"{_TENS[tens - 2]} {_UNITS[units]}" if units else _TENS[tens - 2]


NUMBER_WORDS = {str(number): in_words(number) for number in range(101)}
