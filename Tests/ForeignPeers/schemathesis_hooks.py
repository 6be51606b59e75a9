"""Hooks for schemathesis.

The server takes a field that is null as absent. The document says so once, in its first part, and not at each field. So
schemathesis would call a null bad data, and find that the server takes it.
"""

import schemathesis

# Inside of these null is a value of the caller.
CONTENT = {"attributes", "content_state", "custom", "content_state_schema", "attributes_schema"}


@schemathesis.hook
def filter_case(context, case) -> bool:
    return not has_null(case.body)


def has_null(part) -> bool:
    if isinstance(part, dict):
        return any(value is None or (name not in CONTENT and has_null(value)) for name, value in part.items())
    return isinstance(part, list) and any(has_null(element) for element in part)


@schemathesis.hook
def before_load_schema(context, raw_schema) -> None:
    """Leaves out bodies of lines, which schemathesis does not make. `AudienceListTests` tries them."""
    for path in raw_schema["paths"].values():
        for operation in path.values():
            content = operation.get("requestBody", {}).get("content", {}) if isinstance(operation, dict) else {}
            if "application/json" in content:
                content.pop("application/x-ndjson", None)
