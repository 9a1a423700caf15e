"""`make drill-intervals`: how often each published interval holds the truth, over thousands of seeded windows."""

import sys
import time

from measure.interval_drill import goodput_windows
from measure.interval_drill.line import HEADING


def main() -> None:
    """Print all lines; exit with 1 where a promise is broken."""
    kept = True
    print(HEADING)
    for found in goodput_windows.lines(goodput_windows.PAGE):
        kept &= found.kept
        print(found, flush=True)
    print(f"{time.process_time():.0f} s of CPU")
    sys.exit(not kept)


main()
