"""Texts that say there is no paraphrase, or only that somebody was here."""

import re

# What may follow "no idea" or "i don't know": about anything else it is a way to ask.
_TAIL = (
    r"( (what|how|why))?"
    r"( (it|this|that|the)( (sentence|meaning|question|command|one|is|means?|says))*"
    r"| to (do|say|write|put|paraphrase)( here)?)?"
)
# The whole text must be one of these: a command may well hold such words inside.
_PHRASES = rf"""
    (i (have )?|i've |i am |i'm |im )?(got )?(absolutely )?no (idea|clue){_TAIL}
    (i )?(do not|don't|dont|did not|didn't) (really )?(know|understand|get){_TAIL}
    (i )?(cannot|can't|cant|can not) (understand|think of|paraphrase|rephrase)\b.*
    (i am |i'm |im )?(not sure|unsure|confused){_TAIL}
    (it|this|that|the sentence|the command|sentence) (makes? no|(does not|doesn't|doesnt|does'nt) make( any)?) sense\b.*
    (makes? no|(does not|doesn't|doesnt) make( any)?) sense\b.*
    (this |it )?(is )?(unclear|nonsense|gibberish)
    idk|dunno|n ?/ ?a|na|none|nothing|no|yes|nope|nil|null|blank|skip|empty
    (this is )?(a )?test(ing| test)*
    (the )?same( (as|thing)\b.*)?|see above|as above|ditto|already (good|done)
    (very )?(good|nice|great)( (survey|study|task|job|hit))?|thanks?( you)?|ok(ay)?
    paraphrase ?\d?|sentence ?\d?|your (answer|paraphrase)( here)?
"""  # noqa: E501 - a pattern a line
_NO_IDEA = re.compile("|".join(f"(?:{row.strip()})" for row in _PHRASES.strip().splitlines()))


def says_no_idea(typed: str) -> bool:
    """Tell whether a text is no paraphrase but says that there is none.

    >>> [says_no_idea(t) for t in ("I have no idea.", "IDK", "I don't understand this sentence")]
    [True, True, True]
    >>> says_no_idea("tweet that i have no idea")
    False
    """
    text = " ".join(typed.lower().replace("\u2019", "'").strip(" .!?\t\r\n").split())
    return _NO_IDEA.fullmatch(text.removeprefix("sorry").lstrip(" ,")) is not None
