"""A few words in the format of WordNet's database (wndb), for nltk to read."""

from pathlib import Path

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}


def write_wordnet(folder: Path, synsets):
    """Write the database of synsets, each (part of speech, words), as nltk looks for it.

    Of a word's synsets the first is its most frequent meaning.
    """
    home = folder / "corpora" / "wordnet"
    home.mkdir(parents=True)
    names = [f"{number:02} {FILES[part]}.all 1\n" for number, part in enumerate(FILES)]
    (home / "lexnames").write_text("".join(names))
    for name in ("cntlist.rev", "index.sense"):
        (home / name).write_text("")
    for number, part in enumerate(FILES):
        data, offsets = "  1 WordNet 3.0 Copyright of nobody\n", {}
        for words in (words for of, words in synsets if of == part):
            for word in words:
                offsets.setdefault(word.lower(), []).append(len(data))
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08} {number:02} {part} {len(words):02x} {listed} 000 | meaning\n"
        index = "".join(
            f"{word} {part} {len(at)} 0 {len(at)} 0 {' '.join(f'{one:08}' for one in at)}\n"
            for word, at in sorted(offsets.items())
        )
        (home / f"data.{FILES[part]}").write_text(data)
        (home / f"index.{FILES[part]}").write_text(index)
        (home / f"{FILES[part]}.exc").write_text("")
