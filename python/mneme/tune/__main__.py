"""`python -m mneme.tune` is `mneme tune`."""

import sys

from mneme.tune.command import main

if __name__ == "__main__":
    sys.exit(main())
