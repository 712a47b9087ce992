"""What the peers have in common: their folders, their installs, and programs that end when this one does."""
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TAIL = 1500  # of what a program said before it failed


class PeerError(Exception):
    """Why there is no result; the text is for the user."""


@dataclasses.dataclass
class Folders:
    work: pathlib.Path     # installs; kept where the user named it
    scratch: pathlib.Path  # all else; gone at the end


def add_arguments(parser):
    parser.add_argument("--dooly", default="build/release/bin/dooly", metavar="BIN", help="default: %(default)s")
    parser.add_argument("--store", default=ROOT / "stores/h200-vllm.jsonl.zst", type=pathlib.Path,
                        help="default: the shipped h200-vllm")
    parser.add_argument("--work", default=None, type=pathlib.Path, metavar="DIR",
                        help="keeps the install there, for the next time; default: a temporary folder")


@contextlib.contextmanager
def work_folders(arguments):
    if shutil.which(str(arguments.dooly)) is None:
        raise PeerError(f"{arguments.dooly}: no such program; --dooly says where it is (scripts/quickstart builds it)")
    arguments.dooly = str(pathlib.Path(shutil.which(str(arguments.dooly))).resolve())
    if not arguments.store.exists():
        raise PeerError(f"{arguments.store}: no such store")
    arguments.store = arguments.store.resolve()
    if arguments.work is not None:
        arguments.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-peer-", dir=arguments.work) as scratch:
        scratch = pathlib.Path(scratch).resolve()
        yield Folders(work=(arguments.work or scratch).resolve(), scratch=scratch)


def output_of(command, what, **options):
    """Standard output of a program. It runs in a session of its own and is ended with all its children if this program
    is interrupted. Throws PeerError with the end of what it said if it fails."""
    command = [str(part) for part in command]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             text=True, start_new_session=True, **options)
    try:
        said, errors = child.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        raise
    if child.returncode != 0:
        raise PeerError(f"{what} failed:\n{(errors or said).strip()[-TAIL:]}")
    return said


def note(text):
    print(text, file=sys.stderr, flush=True)


def _has_pip(python):
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0


def installed(folders, peer, groups, size):
    """The interpreter of the peer's virtual environment, made if it is not there. Each group is what one `pip install`
    gets. An install that broke off is no install: its mark is written last."""
    home = folders.work / f"{peer}-venv"
    python, mark, wanted = home / "bin/python", home / "installed", json.dumps(groups)
    if mark.exists() and mark.read_text() == wanted:
        return python
    note(f"installing {peer} into {home} ({size}) …")
    shutil.rmtree(home, ignore_errors=True)
    environment = {**os.environ, "TMPDIR": str(folders.scratch)}  # what pip leaves when it is ended
    output_of([sys.executable, "-m", "venv", home], f"making a virtual environment (is python3-venv installed?) in {home}",
              env=environment)
    if not _has_pip(python):
        raise PeerError(f"{home}: has no pip; on Debian, install python3-venv")
    for group in groups:
        output_of([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *group],
                  f"pip install of {peer} (it needs PyPI and {size})", env=environment)
    mark.write_text(wanted)
    return python
