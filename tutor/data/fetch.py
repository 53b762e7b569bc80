"""Files of data sets: found locally or downloaded once, and always verified.

`fetch` looks in three places, in this order:

1. the folder named by the environment variable TUTOR_DATA. It belongs to the user, who wants this
   data and no other, so a missing or damaged file is an error. The folder is never changed, and
   nothing is downloaded;
2. the cache: TUTOR_CACHE, else the cache folder of the platform. A damaged file there is reported
   and downloaded again;
3. the file's mirrors. The download is saved in the cache.

MissingDataError means that the file was found nowhere; any other DataError, that it is damaged.

Wherever a file comes from, its SHA-256 must match: no other byte reaches the caller.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import queue
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from tutor._util import files
from tutor._util.system import THREADS
from tutor.errors import DataError

T = TypeVar("T")

CONNECT = 5.0  # seconds for one connection, or one read
PATIENCE = 8.0  # seconds without a byte until a mirror is given up, whatever hangs
DEADLINE = 300.0  # seconds for one file, over all its mirrors
ATTEMPTS = 3  # requests per mirror, if the failure may be temporary
BACKOFF = 0.5  # seconds before the second attempt; doubled before the third
GZIP = b"\x1f\x8b"  # magic number of gzip (RFC 1952)


class File(NamedTuple):
    """A file of a data set: where to look for it, and how to verify it once decompressed."""

    folder: str  # below TUTOR_DATA and the cache
    name: str  # without .gz
    size: int
    sha256: str  # "": unknown; size, header and gzip's checksum decide
    mirrors: tuple[str, ...]  # addresses to which "<name>.gz" is added
    aliases: tuple[str, ...] = ()  # other names of a user's copy
    instead: str = ""  # what else to do if it cannot be had
    folders: tuple[str, ...] = ()  # below TUTOR_DATA, and instead of TUTOR_DATA itself
    plain: bool = False  # mirrors are full addresses, and send it uncompressed

    @property
    def kept(self) -> str:
        """Its name in the cache and on the mirrors."""
        return self.name if self.plain else f"{self.name}.gz"

    def address(self, mirror: str) -> str:
        return mirror if self.plain else f"{mirror}{self.kept}"


class MissingDataError(DataError):
    """File not found anywhere: TUTOR_DATA is not set, the cache is empty, no mirror provides it."""


def fetch(file: File, parse: Callable[[bytes], T]) -> T:
    """`parse` of the file's bytes. DataError if no good copy can be found.

    `parse` may also raise DataError, to report the damage more precisely than a checksum can.
    """
    if root := os.environ.get("TUTOR_DATA"):
        return from_user(file, root, parse)
    kept, damage = cache_folder() / file.folder / file.kept, ""
    if os.path.isfile(kept):
        try:
            return unpack(read(kept, file), file, parse)
        except DataError as bad:
            damage = bad.found
            say(f"{kept} is damaged and will be fetched again: {damage}")
    try:
        packed, result = download(file, parse)
    except MissingDataError as missing:
        if not damage:
            raise
        raise DataError(
            f"{file.name} of the data set {file.folder}",
            f"{kept} is damaged ({damage}), and it could not be fetched again: {missing.found}",
            f"connect to the network, or remove the damaged file{file.instead}",
        ) from missing
    keep(packed, kept)
    return result


# ---- what is here already ------------------------------------------------------------------------


def from_user(file: File, root: str, parse: Callable[[bytes], T]) -> T:
    """The file from the folder `root`, which TUTOR_DATA names. DataError if it is missing or
    damaged there: data other than the requested would be worse than none."""
    asked = f"{file.name} from TUTOR_DATA"
    if (own := own_copy(file, root)) is None:
        if not os.path.isdir(root):
            found, do = f"TUTOR_DATA is {root}, which is no folder", "name the folder with the data"
        else:
            folder = f"its folder {file.folder}"
            place = f"{folder} of {root}" if file.folders else f"{root} or {folder}"
            found = f"no {file.name} or {file.name}.gz, in {place}"
            do = "put it there"
        more = f"{do}, or unset TUTOR_DATA to have it downloaded" if file.mirrors else do
        raise DataError(asked, found, f"{more}{file.instead}")
    try:
        return unpack(read(own, file), file, parse)
    except DataError as bad:
        raise DataError(
            asked,
            f"{own}: {bad.found}",
            f"replace it by a good copy of {file.kept}"
            + (", or unset TUTOR_DATA to have one downloaded" if file.mirrors else ""),
        ) from bad


def own_copy(file: File, root: str | None = None) -> Path | None:
    """The user's copy: in `root` (default: TUTOR_DATA) or its folder for the data set, plain or as
    .gz. None if there is no copy."""
    if not (root := root or os.environ.get("TUTOR_DATA")):
        return None
    names = [name + ending for name in (file.name, *file.aliases) for ending in ("", ".gz")]
    folders = (file.folder, *(file.folders or ("",)))
    paths = (Path(root, folder, name) for folder in folders for name in names)
    return next((path for path in paths if os.path.isfile(path)), None)


def cache_folder() -> Path:
    """TUTOR_CACHE, else `tutor` in this platform's folder for files that can be fetched again."""
    if chosen := os.environ.get("TUTOR_CACHE"):
        return Path(chosen)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg, "tutor")
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local, "tutor", "cache")
    try:
        home = Path.home()
    except RuntimeError:  # an account without a home
        return Path(tempfile.gettempdir(), "tutor")
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tutor"


def read(path: Path, file: File) -> bytes:
    try:
        with files.opened(path) as stream:
            payload: bytes = stream.read(most_bytes(file) + 1)
            return payload
    except OSError as error:
        raise DataError(
            f"to read {path}", str(error), "check the file and its permissions"
        ) from error


def most_bytes(file: File) -> int:
    """The most bytes to accept: gzip makes incompressible data only a little larger."""
    return file.size + 65536


def unpack(packed: bytes, file: File, parse: Callable[[bytes], T]) -> T:
    """`parse` of `packed`, decompressed if it is gzip. DataError unless it is exactly the file."""
    payload = packed
    if packed.startswith(GZIP):
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)  # gzip's header and CRC-32, checked
        try:
            payload = stream.decompress(
                packed, file.size + 1
            )  # no more, whatever it claims to hold
        except zlib.error as error:
            raise wrong(file, f"damaged gzip data ({error})") from error
        if not stream.eof and len(payload) <= file.size:
            raise wrong(file, f"the gzip data end early, after {len(packed)} bytes")
    result = parse(payload)
    if len(payload) > file.size:
        raise wrong(file, f"more than the {file.size} bytes that were expected")
    if len(payload) < file.size:
        raise wrong(file, f"{len(payload)} bytes, where {file.size} were expected")
    digest = hashlib.sha256(payload).hexdigest()
    if file.sha256 not in ("", digest):
        raise wrong(file, f"SHA-256 {digest}, where {file.sha256} was expected")
    return result


def wrong(file: File, found: str) -> DataError:
    return DataError(f"the file {file.name}", found, "use a good copy")


# ---- what is elsewhere ---------------------------------------------------------------------------


def download(file: File, parse: Callable[[bytes], T]) -> tuple[bytes, T]:
    """The file from the first mirror that has it, and `parse` of it."""
    if not file.mirrors:
        raise MissingDataError(
            f"{file.name} of the data set {file.folder}",
            f"TUTOR_DATA is not set, no copy in {cache_folder() / file.folder}",
            f"put its files (as {file.name}.gz) into a folder {file.folder}, and set TUTOR_DATA to"
            f" the folder around it{file.instead}",
        )
    until = time.monotonic() + DEADLINE
    mirrors, failures = list(file.mirrors), {}
    if not THREADS:
        mirrors, failures = [], {file.mirrors[0]: "Python in a page has no sockets"}
    for attempt in range(ATTEMPTS):
        time.sleep(BACKOFF * attempt if mirrors else 0)
        for mirror in tuple(mirrors):
            try:
                packed = get(file.address(mirror), most_bytes(file), until)
                return packed, unpack(packed, file, parse)
            except (OSError, http.client.HTTPException, DataError) as error:
                failures[mirror] = reason(error)
                if not may_pass(error):
                    mirrors.remove(mirror)
    answers = "; ".join(f"{urlsplit(mirror).netloc}: {why}" for mirror, why in failures.items())
    into = "into a folder and set TUTOR_DATA to it"
    put = (
        f"{file.mirrors[0]} (as {file.name}) {into}"
        if file.plain
        else f"the files of {file.mirrors[0]} (as {file.name}.gz) {into}"
    )
    raise MissingDataError(
        f"{file.name} of the data set {file.folder}",
        f"TUTOR_DATA is not set, no copy in {cache_folder()}; {answers}",
        f"connect to the network, or put {put}{file.instead}",
    )


def may_pass(error: Exception) -> bool:
    """Whether asking the same mirror again may help: not after an unknown host name, an address
    that does not answer, or a time-out."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500 or error.code in (408, 429)  # server error, timeout, rate limit
    cause = getattr(error, "reason", error)  # the error that urllib wraps
    return not isinstance(cause, (socket.gaierror, TimeoutError))


def reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return str(error)  # "HTTP Error 404: Not Found"
    return error.found if isinstance(error, DataError) else str(getattr(error, "reason", error))


def get(url: str, limit: int, until: float) -> bytes:
    """The body at `url`, of at most `limit` bytes, before the time `until`.

    A separate thread reads it. Socket time-outs limit neither name resolution nor the total over a
    host's many addresses; this way, whatever hangs, hangs in the thread.
    """
    pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
    given_up = threading.Event()

    def work() -> None:
        try:
            with urllib.request.urlopen(url, timeout=CONNECT) as reply:
                pieces.put(reply.length)
                while (piece := reply.read1(1 << 16)) and not given_up.is_set():
                    pieces.put(piece)
            pieces.put(b"")
        except Exception as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # it is also the response, and holds the connection
            pieces.put(error)

    def next_piece() -> Any:
        wait = min(PATIENCE, until - time.monotonic())
        try:
            piece = pieces.get(timeout=max(wait, 0))
        except queue.Empty:
            raise TimeoutError(f"no answer for {max(wait, 0):.0f} seconds") from None
        if isinstance(piece, Exception):
            raise piece
        return piece

    threading.Thread(target=work, daemon=True).start()
    body = bytearray()
    try:
        with progress(url, next_piece()) as bar:
            while piece := next_piece():
                body += piece
                bar.update(len(piece))
                if len(body) > limit:
                    raise DataError(url, f"more than {limit} bytes", "try another mirror")
    finally:
        given_up.set()
    return bytes(body)


def keep(packed: bytes, path: Path) -> None:
    """Cache the file, atomically, for the next time; if that is impossible, say so."""
    try:
        files.write_whole(path, lambda file: file.write(packed))
    except DataError as error:
        say(f"{path} could not be kept ({error.found}): the next run will download it again")


# ---- what the user sees --------------------------------------------------------------------------


def say(text: str) -> None:
    print(f"tutor: {text}", file=sys.stderr)


def progress(url: str, total: int | None) -> Any:
    """A context with `update(bytes)`: tqdm's bar if tqdm is installed, otherwise plain lines."""
    try:
        from tqdm import tqdm  # optional
    except ModuleNotFoundError:
        return Lines(url, total)
    return tqdm(desc=url.rsplit("/", 1)[-1], total=total, unit="B", unit_scale=True)


class Lines:
    """Progress in lines: one at the start, and one for every quarter."""

    def __init__(self, url: str, total: int | None) -> None:
        self.name, self.total, self.done = url.rsplit("/", 1)[-1], total or 0, 0
        say(f"downloading {url}")

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def update(self, count: int) -> None:
        before, self.done = self.done, self.done + count
        if self.total and 4 * before // self.total < 4 * self.done // self.total:
            say(f"{self.name}: {self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB")
