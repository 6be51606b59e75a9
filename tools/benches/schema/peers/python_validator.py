"""Parses and validates one document over and over with a validator for Python.

    python_validator.py jsonschema-rs|fastjsonschema SCHEMA VALID INVALID SECONDS
"""

import json
import sys
import time

BATCH = 100


def validator(library, schema):
    """A function from the bytes of a document to whether it is valid."""
    if library == "jsonschema-rs":
        import jsonschema_rs

        # The draft that the others read, which makes no difference to this schema.
        compiled = jsonschema_rs.Draft7Validator(schema)
        return lambda text: compiled.is_valid(json.loads(text))
    import fastjsonschema

    check = fastjsonschema.compile({"$schema": "http://json-schema.org/draft-07/schema#", **schema})

    def is_valid(text):
        try:
            check(json.loads(text))
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return is_valid


def main():
    library, *paths, seconds = sys.argv[1:]
    schema, valid, invalid = (open(path, "rb").read() for path in paths)
    is_valid = validator(library, json.loads(schema))
    if not is_valid(valid) or is_valid(invalid):
        sys.exit("the verdict is wrong")
    for _ in range(10 * BATCH):
        is_valid(valid)
    documents, began, limit = 0, time.process_time(), float(seconds)
    while (spent := time.process_time() - began) < limit:
        for _ in range(BATCH):
            if not is_valid(valid):
                sys.exit("the verdict has changed")
        documents += BATCH
    print(json.dumps({"documents": documents, "cpu_seconds": spent}))


if __name__ == "__main__":
    main()
