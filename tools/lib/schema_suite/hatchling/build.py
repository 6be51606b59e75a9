"""Stands in for the build system of the archive with JSON Schema's test suite: tells pip what it is and builds nothing."""

import os
import re


def prepare_metadata_for_build_wheel(folder, settings=None):
    """Writes the name and version under which the archive's own description goes."""
    with open("PKG-INFO", encoding="utf-8") as description:
        head = description.read().split("\n\n", 1)[0]
    name, version = (re.search(rf"^{field}: (\S+)$", head, re.MULTILINE)[1] for field in ("Name", "Version"))
    info = f"{name}-{version}.dist-info"
    os.mkdir(os.path.join(folder, info))
    with open(os.path.join(folder, info, "METADATA"), "w", encoding="utf-8") as metadata:
        metadata.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return info
