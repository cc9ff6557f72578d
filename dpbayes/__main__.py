"""``python -m dpbayes`` is the same as ``dpbayes``."""

import sys

from dpbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
