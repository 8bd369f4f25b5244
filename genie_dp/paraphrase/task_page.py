"""The pages that crowd workers see: HTML that needs nothing else, to paste into a project."""

from jinja2 import Environment, PackageLoader, StrictUndefined

from genie_dp.paraphrase.checks import CheckConfig


def paraphrase_page(*, sentences: int, paraphrases: int, config: CheckConfig) -> str:
    """Return the page of a paraphrase task; `${data1}` and so on are left for the platform."""
    return _rendered(
        "paraphrase.html.jinja",
        sentences=sentences,
        paraphrases=paraphrases,
        limits={"characters": config.least_characters, "words": config.least_words},
    )


def validation_page(*, sentences: int) -> str:
    """Return the page of a validation task."""
    return _rendered("validation.html.jinja", sentences=sentences)


def _rendered(name: str, **values: object) -> str:
    environment = Environment(
        loader=PackageLoader("genie_dp.paraphrase", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)
