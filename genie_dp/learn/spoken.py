"""The words inside a program token, which are often those that people say."""

import re


def spoken(token: str) -> tuple[str, ...]:
    """Return the words of a token's name; a parameter's type and a skill's domain are none.

    >>> spoken("param:file_name:Entity(tt:path_name)")
    ('file', 'name')
    >>> spoken("@org.thingpedia.light-bulb.set_color")
    ('light', 'bulb', 'set', 'color')
    >>> spoken("enum:crypto"), spoken("[IN:CREATE_ALARM"), spoken("=>")
    (('crypto',), ('create', 'alarm'), ())
    """
    kind, _, rest = re.sub(r"^\W+", "", token).partition(":")
    name = rest.partition(":")[0] if rest and kind.isalpha() else token
    if name.startswith("@"):
        name = " ".join(name.split(".")[-2:])
    # Words end at signs, and where a capital follows a small letter.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\W_]+", " ", name)
    return tuple(spaced.lower().split())
