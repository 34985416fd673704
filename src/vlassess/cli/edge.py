"""The process edge: every error that is meant for people becomes its sentence and its exit code."""

from __future__ import annotations

import errno
import signal
import sys
from collections.abc import Sequence

from vlassess.cli.app import app

USAGE, INCOMPLETE = 2, 3
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process.

    Args:
        arguments: Without the program's name; None: the process's own.

    Raises:
        SystemExit: always, with the exit code; but a bug is raised as it is, after a line that says so.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what is half made is taken away again
    try:
        app(args=arguments, prog_name="vlassess")
    except Exception as error:
        code = explain(error)
        if code is None:
            print_error(f"this is a bug in vlassess ({type(error).__name__}); please report it with what follows")
            raise
        sys.exit(code)


def explain(error: Exception) -> int | None:
    """Print what people can mend as sentences on stderr and return its exit code, None for a bug."""
    from vlassess_link.errors import VlassessError

    if isinstance(error, VlassessError):
        print_error(str(error))
        return exit_code(error)
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        mend = "free some space" if error.errno in NO_SPACE else "mend it, or choose another place"
        print_error(f"the system refuses: {error.strerror or error}{where}; {mend}")
        return INCOMPLETE if error.errno in NO_SPACE else USAGE
    return None


def exit_code(error: Exception) -> int:
    """Return 3 where a run could have gone on but for the machine or the other side, else 2."""
    from vlassess.execution import ServerStartError
    from vlassess.records import StorageFullError
    from vlassess_link.errors import EpisodeFault, WireError

    beyond_the_command = (EpisodeFault, WireError, ServerStartError, StorageFullError)
    return INCOMPLETE if isinstance(error, beyond_the_command) else USAGE


def print_error(text: str) -> None:
    """Print on stderr, with ``error:`` in front; what would act on a terminal is written out, as an escape."""
    shown = "".join(one if one.isprintable() or one in "\n\t" else repr(one)[1:-1] for one in text)
    sys.stderr.write(f"error: {shown}\n")
