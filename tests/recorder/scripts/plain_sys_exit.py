# expect: status=3
import sys

print("nothing to train")
sys.exit(3)
