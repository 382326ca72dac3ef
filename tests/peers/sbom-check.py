"""Judges lists of parts by CycloneDX's strict schema of 1.6, which knows every key and refuses others.

    sbom-check.py FILE...

The first that does not fit ends it with the reason.
"""

import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

judge = JsonStrictValidator(SchemaVersion.V1_6)
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as sbom:
        error = judge.validate_str(sbom.read())
    if error is not None:
        sys.exit(f"{file}: {error}")
