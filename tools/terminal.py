"""Writes docs/terminal.svg: commands in a terminal, with what they really print.

    make quickstart
    .venv/bin/python -m pip install -c constraints.txt -e '.[docs]'
    .venv/bin/python tools/terminal.py

The programs are those of the parser that `make quickstart` trains. The picture loads nothing: no
font and no style from elsewhere.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "terminal.svg"
WIDTH = 96
LONGEST = 10  # lines of a command's output that are shown
ASKED = "every day at 7 am show me the forecast for berlin"
COMMANDS = (
    "genie-dp synthesize --size 3 --seed 21 --format tsv",
    f'genie-dp parse --parser build/quickstart/parser \\\n    "{ASKED}"',
    'genie-dp grammar explain "show me my unread emails"',
)
SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
    font: {char_height}px/{line_height}px Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    """Run the commands, and draw them."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), color_system="truecolor")
    for command in COMMANDS:
        console.print(Text.assemble(("$ ", "bold #8fd460"), (command, "bold #ffffff")))
        lines = printed_lines(command)
        for line in lines[:LONGEST]:
            show(console, line)
        console.print("…\n" if len(lines) > LONGEST else "")
    svg = console.export_svg(title="genie-dp", code_format=SVG, unique_id="terminal")
    # Lines of the picture end without spaces.
    TARGET.write_text(re.sub(" +$", "", svg, flags=re.MULTILINE), encoding="utf-8")
    print(TARGET)


def show(console: Console, line: str) -> None:
    """Print a line, its program in colour; what does not fit goes on below, further in."""
    *fields, last = line.split("\t")
    said = "".join(f"{field}  " for field in fields)
    text = Text.assemble(said, (last, "#7dcfe0" if " => " in last else ""))
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    first, *rest = text.wrap(console, WIDTH - len(indent)) or [text]
    console.print(first)
    for part in rest:
        console.print(Text(indent) + part)


def printed_lines(command: str) -> list[str]:
    """Return what a command prints to both streams, its last empty lines left out."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout.rstrip().splitlines()


if __name__ == "__main__":
    main()
