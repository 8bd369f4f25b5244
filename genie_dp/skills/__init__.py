"""The skill library: classes, phrases, value lists and real Thingpedia folders."""
