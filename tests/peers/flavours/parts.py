"""What all judges of parts share: how parts come in, and how verdicts go out.

Standard input has one part a line, as `gatepost render --json` writes them; lines of many documents may follow each
other, told apart by their `index`. Standard error gets a line for each reason against a part, standard output how many
parts there were. Exit status 0: every part is well, and there was one; 1: some are not; 2: the judge could not judge.
"""

import json
import sys
import traceback


def units(text):
    """Its length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def judge(reasons):
    """Has `reasons`, which yields what is wrong with a part, look at every part, and ends the process."""
    count, refused = 0, set()
    for line in sys.stdin:
        try:
            part = json.loads(line)
            index = part["index"]
            for why in reasons(part):
                refused.add(index)
                print(f"part {index}: {' '.join(why.split())}", file=sys.stderr)
        except Exception:
            traceback.print_exc()
            sys.exit(2)
        count += 1
    print(f"{count} parts, {len(refused)} refused")
    sys.exit(0 if count and not refused else 1)
