"""The folder of a project that an import writes: the one writer of all kinds of sources."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from genie_dp.importers.registry import import_source
from genie_dp.importers.skeletons import write_files
from genie_dp.importers.source import Imported, ImportSource
from genie_dp.locale import DEFAULT, ENDING, begin_words, has_negations, is_language
from genie_dp.run.stage import Result

REVIEW, PROJECT = "REVIEW.md", "genie.yaml"


@dataclass(frozen=True, slots=True)
class ImportResult(Result):
    """A folder that was written.

    Attributes:
        folder: where it is.
        imported: its contents.
    """

    folder: Path
    imported: Imported

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        for skipped in self.imported.skipped:
            yield from skipped.lines()
        counts = ", ".join(f"{count:,} {kind}" for kind, count in self.imported.counts.items())
        yield f"wrote {self.folder}: {counts}"
        left_out = sum(note.sort == "left out" for note in self.imported.notes)
        if left_out:
            yield f"  {left_out:,} things are left out: {self.folder / REVIEW}"
        if (language := _language_of(self.imported)).endswith(ENDING):
            yield f"  {self.folder / language} begins the words of the language: docs/locales.md"
        yield f"go on with: read {self.folder / REVIEW}, then"
        yield f"  cd {self.folder}"
        yield "  genie-dp check"
        yield "  genie-dp run"


def run(
    source: ImportSource,
    output: Path,
    *,
    kind: str | None = None,
    files: Mapping[str, str] | None = None,
) -> ImportResult:
    """Import a source into a new folder.

    Args:
        source: of the import.
        output: the folder.
        kind: the name of the source's kind; None to detect it.
        files: further files of the folder, such as a schema for editors.

    Raises:
        GenieError: as `import_source`; R032, the folder exists.
    """
    if output.exists():
        write_files(output, {})  # says so before anything is read
    imported = import_source(source, kind=kind)
    own = {PROJECT: project_text(imported), REVIEW: review_text(source, imported)}
    language = _language_of(imported)
    if language.endswith(ENDING):
        own[language] = begin_words(language.removesuffix(ENDING))
    write_files(output, {**own, **(files or {}), **imported.files})
    return ImportResult(output, imported)


_PROJECT = """\
# yaml-language-server: $schema=genie.schema.json
# What is made of the library, in order: `genie-dp run`. docs/projects.md has all settings.
skills: {skills}
grammar: {grammar}
output: build
{locale}jobs: 2
stages:
  pairs: {{synthesize: {{size: 5000, max_depth: 3, seed: 1}}}}
  rows: {{augment: {{free_text_rate: 0.7, quoted: 0.02, seed: 1}}, of: pairs}}
  parser: {{train: {{steps: {steps}, seed: 1}}, of: rows}}
"""
_RESULT = "  result: {{evaluate: {{rows: {eval}}}, of: parser}}\n"


def project_text(imported: Imported) -> str:
    """Return the genie.yaml of an import."""
    text = _PROJECT + (_RESULT if imported.eval else "")
    language = _language_of(imported)
    return text.format(
        # The base that training begins with reads English.
        steps=1000 if language != DEFAULT else 300,
        skills=imported.skills,
        grammar=imported.grammar,
        eval=imported.eval,
        locale=f"locale: {language}\n" if language != DEFAULT else "",
    )


def _language_of(imported: Imported) -> str:
    """Return the language setting of a project: its name, or a file of words beside it.

    Without negations no language is a locale: the file is where they are to be written.
    """
    language = imported.locale.replace("_", "-").partition("-")[0].lower() or DEFAULT
    if not is_language(language):
        return DEFAULT
    return language if has_negations(language) else f"{language}{ENDING}"


_SORTS = {
    "left out": "Left out",
    "changed": "Changed",
    "not checked": "Not checked",
    "guess": "Guessed",
}
_MEANINGS = {
    "left out": "The source has it, and what was written has not.",
    "changed": "It is said in another way than in the source.",
    "not checked": "The schemas say it, and calls need not obey.",
    "guess": "The source does not say it. Read these, and mend them in the files.",
}


def review_text(source: ImportSource, imported: Imported) -> str:
    """Return REVIEW.md: everything that a person should look at, by sort, with its place."""
    lines = [
        f"# To be reviewed: {source.given}",
        "",
        "Made once by `genie-dp grammar import`; nothing reads this file. Each line begins with "
        "a tool, or a place in the source, that it is about.",
    ]
    for sort, title in _SORTS.items():
        notes = [note for note in imported.notes if note.sort == sort]
        if notes:
            lines += ["", f"## {title} ({len(notes)})", "", _MEANINGS[sort], ""]
            lines += [f"- `{note.path or '.'}`: {note.text}" for note in notes]
    if not imported.notes:
        lines += ["", "Nothing was guessed or left out."]
    return "\n".join(lines) + "\n"
