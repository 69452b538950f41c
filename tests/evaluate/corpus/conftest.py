"""A stand-in for a worker with a model is a module beside the tests, found through the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
