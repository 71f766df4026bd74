"""`python -m heft`: the command line."""

import sys

from heft.main import main

sys.exit(main())
