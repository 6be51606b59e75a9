"""Hooks for schemathesis.

The server takes a field that is null as absent. The document says so once, in its first part, and not at each field. So
schemathesis would call a null bad data, and find that the server takes it.
"""

import schemathesis

# Null is a value inside of these.
VALUES = {"attributes", "content_state", "custom", "content_state_schema", "attributes_schema"}


@schemathesis.hook
def filter_body(context, body) -> bool:
    return context.operation.method.upper() == "PATCH" or not has_null(body)


def has_null(part) -> bool:
    if isinstance(part, dict):
        return any(value is None or has_null(value) for name, value in part.items() if name not in VALUES)
    return isinstance(part, list) and any(has_null(element) for element in part)
