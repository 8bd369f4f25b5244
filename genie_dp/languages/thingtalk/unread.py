"""Constructs of ThingTalk 1.x and 2 that are not read, and what to write in their place."""

UNREAD: dict[str, str] = {
    "actions": "several actions are several rules: s => q => a; s => q => b",
    "count": "'count' counts results, not an output: agg count of (..)",
    "executor": "programs for another person's assistant are not read",
    "expiration_date": "'expiration_date' is not read: timers go on",
    "frequency": "'frequency' is not read, give the time in between: 2 a day is interval = 12h",
    "group_member": "groups are not read, name the people: source in_array [..]",
    "index": "an index or slice of results is not read",
    "let": "declarations are not read: write what the name stands for",
    "ontimer": "'ontimer', which fires once at a date, is not read",
    "part": "year, month and day of a date are all needed: makeDate(2019, 12, 31)",
    "projection": "a projection is not read: queries give all of their outputs",
    "sort": "an order of results is not read",
    "weekday": "a day of the week is not read as a date",
}
"""Construct -> hint; that of a construct that begins with a word of its own is named so."""
