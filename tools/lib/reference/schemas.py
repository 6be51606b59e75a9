"""Schemas of the document, as HTML."""

import json

from text import blocks, escape

PREFIX = "#/components/schemas/"
# What a property may be, besides its type.
LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "pattern <code>{}</code>",
    "format": "{}",
}
# The largest number that is stored says nothing to a reader.
UNSAID = {9223372036854775807, -9223372036854775808}


def words(schema):
    """The type of a value in a few words, with links to the schemas that have a name."""
    if schema is True or not schema:
        return "any"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return f'<a href="#schema-{name}">{name}</a>'
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(words(one) for one in schema[key]))
    if "const" in schema:
        return f"<code>{escape(schema['const'])}</code>"
    if "enum" in schema:
        return " or ".join(f"<code>{escape('null' if one is None else one)}</code>" for one in schema["enum"])
    kinds = schema.get("type", "any")
    return " or ".join(kind_words(kind, schema) for kind in (kinds if isinstance(kinds, list) else [kinds]))


def kind_words(kind, schema):
    if kind == "array":
        return f"array of {words(schema.get('items', True))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {words(schema['additionalProperties'])}"
    return kind


def example(value):
    """A value as it stands in a request; a text without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def limits(schema):
    """The bounds of a value, its default and an example."""
    said = [text.format(escape(schema[key])) for key, text in LIMITS.items() if schema.get(key, None) is not None and schema[key] not in UNSAID]
    if "default" in schema and schema["default"] is not None:
        default = schema["default"]
        shown = str(default).lower() if isinstance(default, bool) else default
        said.append(f"default <code>{escape(shown)}</code>")
    if "examples" in schema:
        said.append(f"for example <code>{escape(example(schema['examples'][0]))}</code>")
    return ", ".join(said)


def properties(schema):
    """The properties of an object, required ones marked."""
    required = schema.get("required", [])
    shown = []
    for name, one in schema.get("properties", {}).items():
        shown.append(entry(name, one, name in required))
        if "$ref" not in one and one.get("type") == "object" and "properties" in one:
            shown.append(f"<dd>{properties(one)}</dd>")
    return f"<dl>{''.join(shown)}</dl>" if shown else ""


def entry(name, schema, required, description=None):
    """One property or parameter."""
    facts = [f'<span class="type">{words(schema)}</span>']
    if required:
        facts.append("<em>required</em>")
    if bounds := limits(schema):
        facts.append(f"<span>{bounds}</span>")
    described = blocks(description or schema.get("description"))
    return f"<dt><code>{escape(name)}</code> {' '.join(facts)}</dt><dd>{described}</dd>"


def section(name, schema):
    """A named schema."""
    facts = words(schema) if "properties" not in schema else ""
    bounds = limits(schema)
    kind = f'<p class="type">{", ".join(filter(None, [facts, bounds]))}</p>' if facts or bounds else ""
    return f'<section id="schema-{name}"><h3>{name}</h3>{blocks(schema.get("description"))}{kind}{properties(schema)}</section>'
