"""A grammar for Chatette (https://github.com/SimGus/Chatette): home, music and mail, no recursion.

Chatette has no types and no programs, so the English grammar cannot be given to it. This one has
its usual size and shape, and more sentences than anybody draws. What it gives is an intent and the
places of slots.
"""

from math import prod
from pathlib import Path

INTENT = "command"
# name -> the ways to say it; <x> is another name, <x?> is one that may be left out.
RULES: dict[str, tuple[str, ...]] = {
    INTENT: (
        "<polite?> <act>", "<act> <when>", "<when> , <act>", "<polite> <act> <when>",
        "<act> and then <act>", "<when> , <act> and then <act>",
    ),
    "polite": (
        "please", "can you", "could you", "i want you to", "i would like you to", "go ahead and",
    ),
    "when": (
        "at <hour> <half>", "every day at <hour> <half>", "every <weekday>", "when i get home",
        "when i leave home", "when it starts raining", "when <person> sends me an email",
        "when the <room> gets <warmth>", "tomorrow at <hour> <half>", "in <amount> minutes",
    ),
    "hour": ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"),
    "half": ("am", "pm", "in the morning", "in the evening"),
    "weekday": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "amount": ("5", "10", "15", "20", "30", "40", "50", "60", "75", "90"),
    "warmth": ("hot", "cold", "too warm", "too cold"),
    "act": ("<home>", "<music>", "<mail>"),
    "home": (
        "turn <onoff> the <room?> <device>", "switch the <room?> <device> <onoff>",
        "set the <room> lights to <color>", "dim the <room?> lights to <amount> percent",
        "set the <room?> thermostat to <amount> degrees", "<lock> the <door> door",
        "make the <room> lights <color>",
    ),
    "onoff": ("on", "off"),
    "lock": ("lock", "unlock", "open", "close"),
    "room": (
        "bedroom", "kitchen", "living room", "bathroom", "hallway", "garage", "guest room",
        "office", "dining room", "basement",
    ),
    "device": (
        "lights", "fan", "heater", "tv", "speaker", "humidifier", "air conditioner", "camera",
        "coffee machine", "radio",
    ),
    "color": ("red", "blue", "green", "white", "yellow", "purple", "orange", "warm white"),
    "door": ("front", "back", "garage", "cellar", "balcony"),
    "music": (
        "play <mood?> <genre> music", "play <song> by <artist>", "play something by <artist>",
        "add <song> to my <playlist> playlist", "skip this song", "pause the music",
        "turn the volume to <amount>", "play my <playlist> playlist <loud?>",
    ),
    "mood": ("happy", "sad", "relaxing", "loud", "old"),
    "genre": ("jazz", "rock", "folk", "metal", "classical", "country", "techno", "blues"),
    "song": (
        "hello", "yesterday", "imagine", "thunder road", "blue moon", "summertime", "wake me up",
        "let it be",
    ),
    "artist": (
        "adele", "queen", "the beatles", "bruce springsteen", "nina simone", "prince", "madonna",
        "miles davis",
    ),
    "playlist": ("party", "workout", "dinner", "driving", "sleep", "summer"),
    "loud": ("loudly", "quietly", "in the kitchen", "everywhere"),
    "mail": (
        "send <person> an email saying <text>", "email <person> that <text>",
        "forward my last email to <person>", "reply <text> to <person>", "<mark> all my emails",
        "<mark> the emails from <person>", "tell <person> that <text>",
    ),
    "mark": ("archive", "delete", "read me", "label", "star", "show me", "count", "mark as read"),
    "person": ("alice", "bob", "my boss", "my mother", "carol", "my team", "dave", "my landlord"),
    "text": (
        "i am late", "i am on my way", "the meeting is cancelled", "dinner is ready",
        "i will call later", "we need milk",
    ),
}  # fmt: skip


def productions() -> int:
    """Return how many productions the grammar has."""
    return sum(map(len, RULES.values()))


def sentences(name: str = INTENT) -> int:
    """Return how many derivations there are."""
    return sum(prod(_ways(word) for word in way.split()) for way in RULES[name])


def _ways(word: str) -> int:
    if not word.startswith("<"):
        return 1
    name = word.strip("<>?")
    return sentences(name) + ("?" in word)


def write(folder: Path, size: int) -> Path:
    """Write the grammar, asking for that many sentences; return the file to give to Chatette."""
    path = folder / "home.chatette"
    blocks = []
    for name, ways in RULES.items():
        head = f"%[{INTENT}]('training':{size})" if name == INTENT else f"~[{name}]"
        blocks.append("\n".join([head, *(f"    {_reference(way)}" for way in ways)]))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return path


def _reference(way: str) -> str:
    return way.replace("<", "~[").replace(">", "]")
