"""The words and keys that noise is made of. All of general English, none from a data set."""


def _phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, which commas and line ends part."""
    return tuple(phrase.strip() for phrase in text.replace("\n", ",").split(",") if phrase.strip())


# Before any sentence.
GREETINGS = _phrases("""
    hi, hey, hello, ok, okay, so, um, uh, well, alright, yo, hey there, hi there, ok so, so um
    hey listen, listen, good morning, good evening, excuse me, hmm, oh, ah, right, now, sorry
    hey assistant, hello assistant, dear assistant, quick question, one more thing, one thing
    sorry but, actually, by the way, as usual, if possible, if you can, when you have a moment
    oh and, ok then, alright then, hey can you help
""")

# Before a sentence that begins with what to do.
REQUESTS = _phrases("""
    please, can you, could you, can you please, could you please, would you, will you, kindly
    would you please, i want you to, i need you to, i would like you to, i'd like you to, just
    please just, go ahead and, hey can you, hey could you, hey please, ok please, ok now
    now please, i was wondering if you could, do me a favor and, you can, you should
    please can you, please could you, hi can you, hi could you please, i wish you would
    may i ask you to, help me and, be so kind and
""")

# After any sentence.
ENDINGS = _phrases("""
    please, thanks, thank you, now, right now, for me, asap, ok, okay, pls, plz, thx, if possible
    if you can, as soon as you can, please and thanks, thank you very much, thanks a lot
    thanks in advance, many thanks, when you can, that 's all, that is it, cheers, will you
    would you, i guess, i think, you know, or whatever, and that 's it
""")

# Between two words.
HESITATIONS = _phrases("um, uh, er, hmm, like, just, well, actually, basically, maybe, so, ah, oh")

ARTICLES = frozenset(("a", "an", "the"))
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
    ('seven', 'thirty', 'forty two', 'a hundred')
    """
    if number == 100:
        return "a hundred"
    if number < 20:
        return _UNITS[number]
    tens, units = divmod(number, 10)
    return f"{_TENS[tens - 2]} {_UNITS[units]}" if units else _TENS[tens - 2]


NUMBER_WORDS = {str(number): in_words(number) for number in range(101)}
