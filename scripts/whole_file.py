"""Writes a file that a user names: it gets its name when it is whole, so that a full disk leaves nothing truncated."""

import sys
from pathlib import Path


def write_whole(path, data):
    """`data`: text or bytes. Ends the program with a message that names the file if it cannot be written."""
    path = Path(path)
    is_replaced = path.is_file() or not path.exists()  # a device is not
    written = path.with_name(path.name + ".tmp") if is_replaced else path
    try:
        try:
            written.write_bytes(data.encode() if isinstance(data, str) else data)
            if is_replaced:
                written.replace(path)
        except OSError:
            if is_replaced:
                written.unlink(missing_ok=True)
            raise
    except OSError as error:
        sys.exit(f"{path}: cannot write: {error.strerror}")
