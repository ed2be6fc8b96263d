"""Until `mneme tune` can say something itself, Ctrl-C ends it as it ends any program: no traceback of imports."""

import signal
import sys


def _is_tune() -> bool:
    program = (getattr(sys, "argv", None) or [""])[0]
    return program.endswith("/mneme-tune") or (program == "-m" and sys.orig_argv[1:3] == ["-m", "mneme.tune"])


if _is_tune() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
