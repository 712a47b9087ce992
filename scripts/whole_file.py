"""Writes a file that a user names: it gets its name when it is whole, so that a full disk leaves nothing truncated."""

import fcntl
import os
import secrets
import sys
from pathlib import Path


MOST_OF_NAME = 160


def shortened(name):
    """A part and the FNV-1a hash, as beginning_of() in files/src/hidden.cpp."""
    encoded = os.fsencode(name)
    value = 0xCBF29CE484222325
    for byte in encoded:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{os.fsdecode(encoded[:MOST_OF_NAME])}.{value}"


def hidden(path):
    """A new file beside `path`, open and locked, of a name that `dooly` takes for its own: see files/src/hidden.cpp,
    which removes what a killed writer leaves."""
    begins = path.name if len(os.fsencode(path.name)) <= MOST_OF_NAME else shortened(path.name)
    name = f".{begins}.{os.getpid()}-{secrets.token_hex(8)}.dooly-tmp"
    file = path.with_name(name).open("xb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def write_whole(path, data):
    """`data`: text or bytes. Ends the program with a message that names the file if it cannot be written."""
    path = Path(path)
    data = data.encode() if isinstance(data, str) else data
    try:
        if path.exists() and not path.is_file():  # a device is not replaced
            path.write_bytes(data)
            return
        file = hidden(path)
        try:
            with file:
                file.write(data)
                file.flush()
                os.replace(file.name, path)  # while it is locked
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
    except OSError as error:
        sys.exit(f"{path}: cannot write: {error.strerror}")
