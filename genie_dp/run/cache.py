"""Skills and templates as they were read and checked before, kept between runs.

Reading the shipped library takes over two seconds, and it rarely changes between two commands. So
the result is kept in the user's cache folder with the hashes of all texts that it came from.
It is used again while they and the lists of files in the skill folders are the same, by the same
version of this package, of Python and of the libraries that parse and inflect.

    GENIE_DP_CACHE=DIR    keeps it in another folder
    GENIE_DP_CACHE=       keeps nothing
"""

import gc
import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from itertools import accumulate, chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

import genie_dp
from genie_dp.errors import GenieError
from genie_dp.texts import read_text

if TYPE_CHECKING:
    from lark import Lark

VARIABLE = "GENIE_DP_CACHE"
_SMALLEST = 50_000  # characters: what is smaller is read in a tenth of a second
_MOST_BYTES = 300_000_000  # of all files; 50 MB with the shipped library (November 2026)
_LIBRARIES = ("lark", "inflect", "lemminflect")
# Where a file may turn up that was not there before: in a skill, in a folder of skills.
_PLACES = ("*", "*/*", "values/*", "*/values/*")
_SUFFIXES = (".tt", ".genie", ".tsv")


@dataclass(frozen=True, slots=True)
class Parsed:
    """Where the result of reading some skills and templates is kept, or would be.

    Attributes:
        path: the file; None where nothing is kept.
        listed: the names of all files of skills.
    """

    path: Path | None
    listed: tuple[str, ...]

    @classmethod
    def from_skills(
        cls, skills: Iterable[Path], templates: Iterable[Path], *settings: object
    ) -> "Parsed":
        """Return the place for data read from skills and templates with these settings.

        Args:
            skills: folders or files.
            templates: files.
            settings: plain data.
        """
        folder = _folder()
        if folder is None:
            return cls(None, ())
        names_of_files = {
            str(path)
            for root in skills
            for place in _PLACES
            for path in root.glob(place)
            if path.suffix in _SUFFIXES
        }
        paths = sorted(map(str, skills)), [*map(str, templates)]
        # Mistakes name files as they were given, be it from here.
        is_from_here = not all(map(os.path.isabs, chain(*paths)))
        name = repr((settings, paths, os.getcwd() if is_from_here else "", _code()))
        digest = hashlib.sha256(name.encode()).hexdigest()
        return cls(folder / f"{digest[:32]}.pickle", tuple(sorted(names_of_files)))

    def load(self) -> Any:
        """Return the kept value, or None if nothing was or a file has changed."""
        content = load_pickled(self.path)
        if content is None:
            return None
        (listed, hashes), result = content
        if listed != self.listed or any(_hash(f) != text for f, text in hashes.items()):
            return None
        return result

    def keep(
        self, result: Any, sources: Mapping[str, str], *, with_listed: bool = False
    ) -> Path | None:
        """Keep a result that came from these texts (file -> text); return where, if it was kept.

        `with_listed` it is kept until any file of the skills changes, be it among the texts or not.
        """
        if self.path is None or is_small(sources):
            return None
        hashes = {name: _hash(name) for name in self.listed} if with_listed else {}
        hashes |= {name: _hash_of(text) for name, text in sources.items()}
        keep_pickled(self.path, ((self.listed, hashes), result))
        return self.path


def is_small(sources: Mapping[str, str]) -> bool:
    """Return whether texts (file -> text) are so few that caching them saves no time."""
    return sum(map(len, sources.values())) < _SMALLEST


def load_lark(grammar: str, **options: Any) -> "Lark":
    """Return a parser of Lark whose tables are kept: making ThingTalk's takes 0.3 seconds.

    Args:
        grammar: its text.
        options: those of `Lark`, with which the tables are kept.
    """
    from lark import Lark

    folder = _folder()
    if folder is None:
        return Lark(grammar, **options)
    path = folder / f"{_hash_of(grammar)[:32]}.lark"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_ours = not path.exists() or _is_ours(path)
    except OSError:
        is_ours = False
    # Lark knows by a hash whether they are those of this grammar, these options and this version.
    return Lark(grammar, cache=str(path) if is_ours else False, **options)


def place_in_cache(settings: object, suffix: str) -> Path | None:
    """Return the file for data that depend on these settings and this code; None if none is kept.

    Args:
        settings: plain data whose `repr` identifies it.
        suffix: such as ".rows".
    """
    folder = _folder()
    if folder is None:
        return None
    digest = hashlib.sha256(repr((settings, _code())).encode()).hexdigest()
    return folder / f"{digest[:32]}{suffix}"


def load_pickled(path: Path | None, shared: Mapping[str, Any] | None = None) -> Any:
    """Return the contents of a file of the cache; None if it is not there, cut short or another's.

    Args:
        shared: name -> object that the content refers to and does not hold.
    """
    if path is None or not path.is_file():
        return None
    if not _is_ours(path):
        return None
    collects = gc.isenabled()
    gc.disable()  # it would look through all that is made so far, again and again
    try:
        with open(path, "rb") as file:
            content = _Unpickler(file, shared).load() if shared else pickle.load(file)
        os.utime(path)  # what is used stays longest
        return content
    except (pickle.UnpicklingError, EOFError, OSError):  # cut short or forgotten: written again
        return None
    finally:
        if collects:
            gc.enable()


def _is_ours(path: Path) -> bool:
    """Return whether a file is ours: unpickling runs code, so it must not be written by others."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _rebuild(kind: type, values: tuple[Any, ...]) -> Any:
    """Return a frozen dataclass of these values, without going through its checks again."""
    instance: Any = object.__new__(kind)
    for fill, value in zip(_fillers(kind), values, strict=True):
        fill(instance, value)
    return instance


@cache
def _fillers(kind: type) -> tuple[Callable[[Any, Any], None], ...]:
    return tuple(getattr(kind, field.name).__set__ for field in fields(kind))


@cache
def _is_frozen(kind: Any) -> bool:
    """Return whether a class is a frozen dataclass with slots, which Python unpickles slowly.

    It asks for the fields of each object anew: three quarters of the time to load the shipped
    library and its templates (November 2026).
    """
    params = getattr(kind, "__dataclass_params__", None)
    is_plain = "__slots__" in vars(kind) and "__reduce__" not in vars(kind)
    return bool(params and params.frozen and is_plain)


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)  # whose own class no pickle finds


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], shared: Mapping[str, Any]):
        super().__init__(file)
        self.shared = shared

    def persistent_load(self, name: str) -> Any:
        return self.shared[name]


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], shared: Mapping[str, Any], without: Collection[type]):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.names = {id(value): name for name, value in shared.items()}
        self.without = without

    def persistent_id(self, made: Any) -> str | None:
        return self.names.get(id(made))

    def reducer_override(self, made: Any) -> Any:
        """Return the reducer of a frozen dataclass or mapping; others are pickled as ever."""
        kind: Any = type(made)
        if kind in self.without:
            return type(None), ()
        if kind is MappingProxyType:
            return _read_only, (dict(made),)
        if not _is_frozen(kind):
            return NotImplemented
        names = (field.name for field in fields(made))
        return _rebuild, (type(made), tuple(getattr(made, name) for name in names))


def keep_pickled(
    path: Path,
    content: Any,
    shared: Mapping[str, Any] | None = None,
    without: Collection[type] = (),
) -> None:
    """Write a file of the cache; of all its files those last used stay, up to _MOST_BYTES.

    A cache that cannot be written costs time on the next run, and nothing else.

    Args:
        shared: name -> object that stays outside: whoever loads the content has it, too.
        without: classes whose objects nobody asks the content for: None stands in their place.
    """
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(temporary, "wb") as file:
            _Pickler(file, shared or {}, without).dump(content)
        temporary.replace(path)
        _forget_oldest(path.parent)
    except OSError:
        temporary.unlink(missing_ok=True)


def _hash(file: str) -> str:
    """Return the hash of a file as it is now; "" if it cannot be read."""
    try:
        return _hash_of(read_text(Path(file)))
    except GenieError:
        return ""


def _hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _folder() -> Path | None:
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE]) if os.environ[VARIABLE] else None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "genie_dp"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "genie_dp"
    return Path.home() / ".cache" / "genie_dp"


@cache
def _code() -> str:
    """Return the key of this version of the code, edited ones included."""
    package = Path(genie_dp.__file__).parent
    stamps = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for pattern in ("**/*.py", "**/*.lark", "**/*.txt")
        for path in sorted(package.glob(pattern))
    ]
    return repr((sys.version, [version(name) for name in _LIBRARIES], stamps))


def _forget_oldest(folder: Path) -> None:
    entries = [(path, path.stat()) for path in folder.iterdir()]
    entries.sort(key=lambda entry: entry[1].st_mtime, reverse=True)
    sizes = accumulate(stat.st_size for _, stat in entries)
    for (path, _), size in list(zip(entries, sizes, strict=True))[1:]:
        if size > _MOST_BYTES:
            path.unlink(missing_ok=True)
