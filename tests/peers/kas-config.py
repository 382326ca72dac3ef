"""Reads kas files as kas does, with its schema and what they include, and fetches nothing.

    kas-config.py FILE...

Writes what came of each as a line of JSON. A file that kas refuses ends it with kas's words.
"""

import json
import sys

from kas.context import create_global_context
from kas.includehandler import IncludeHandler
from kas.kas import kas_get_argparser

# `dump` itself would clone what the files name.
create_global_context(kas_get_argparser().parse_args(["--no-color", "dump", "none.yml"]))
for file in sys.argv[1:]:
    config, missing = IncludeHandler([file], use_lock=False).get_config()
    if missing:
        sys.exit(f"{file}: includes from other repositories: {missing}")
    print(json.dumps(config))
