"""`mneme report`, which is `mneme-report` on the PATH."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mneme._help import Parser
from mneme._views import shown, shown_message
from mneme.errors import MnemeError
from mneme.report import STAGES, write

WRONG_COMMAND_LINE = 64


class _Parser(Parser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(WRONG_COMMAND_LINE, f"mneme: {shown_message(message)}\nSee 'mneme report --help'.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status: 0 done, 2 could not be done (64, a wrong command line, exits).

    >>> main(["/nowhere"])
    2
    """
    parser = _Parser(
        "Writes one self-contained HTML page of what `mneme tune` or `mneme sweep` found.",
        [
            ("mneme report add", "add/report.html, of what `mneme tune --results-dir add` left"),
            ("mneme report add -o page.html --no-code", "elsewhere, and without the code's differences"),
        ],
        prog="mneme report",
    )
    parser.add_argument("results", metavar="RESULTS", help="the folder of results")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page (default: RESULTS/report.html)")
    parser.add_argument(
        "--no-code", action="store_true", help="without what differs between the code of the baseline and of the best"
    )
    parser.add_argument(
        "-rdb",
        "--rdb",
        "--record-db",
        dest="record_db",
        metavar="DB",
        help="the database, where it is not as the results say",
    )
    options = parser.parse_args(arguments)
    try:
        page = write(
            options.results, options.output, database=options.record_db, stages=() if options.no_code else STAGES
        )
    except MnemeError as error:
        print(f"mneme: {shown_message(str(error))}", file=sys.stderr)
        return 2
    print(shown(str(page)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
