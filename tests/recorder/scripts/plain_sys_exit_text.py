# expect: status=1
import sys

if len(sys.argv) < 2:
    sys.exit("no data found")
