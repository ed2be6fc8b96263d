"""`python -m mneme.report` is `mneme report`."""

import sys

from mneme.report.command import main

if __name__ == "__main__":
    sys.exit(main())
