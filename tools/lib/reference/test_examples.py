"""Every body, answer and field of the API has an example."""

import copy
import unittest

import reference
import yaml

METHODS = {"get", "put", "post", "patch", "delete"}
TELLING = {"example", "examples", "enum", "const", "default"}


class Examples:
    """What the examples of a document show."""

    def __init__(self, document):
        self.document = document
        # Fields that an example of a body has, by the identity of their schema.
        self.shown = set()
        self.bare_bodies = []
        for place, content in self.contents():
            for media in content.values():
                values = list(self.values(media))
                if not values:
                    self.bare_bodies.append(place)
                for value in values:
                    self.walk(value, media.get("schema", {}))

    def resolved(self, node):
        while "$ref" in node:
            found = self.document
            for key in node["$ref"].split("/")[1:]:
                found = found[key]
            node = found
        return node

    def contents(self):
        for path, item in self.document["paths"].items():
            for method in METHODS & set(item):
                operation = item[method]
                if "requestBody" in operation:
                    yield f"{method} {path}", self.resolved(operation["requestBody"])["content"]
                for status, answer in operation["responses"].items():
                    yield f"{method} {path} {status}", self.resolved(answer).get("content", {})

    def values(self, media):
        if "example" in media:
            yield media["example"]
        for one in media.get("examples", {}).values():
            yield self.resolved(one)["value"]

    def walk(self, value, schema):
        if "$ref" in schema:
            self.walk(value, self.resolved(schema))
        for key in ("oneOf", "anyOf", "allOf"):
            for one in schema.get(key, []):
                self.walk(value, one)
        if isinstance(value, dict):
            fields, others = schema.get("properties", {}), schema.get("additionalProperties")
            for name, part in value.items():
                if name in fields:
                    self.shown.add((id(schema), name))
                    self.walk(part, fields[name])
                elif isinstance(others, dict):
                    self.walk(part, others)
        elif isinstance(value, list) and isinstance(schema.get("items"), dict):
            for part in value:
                self.walk(part, schema["items"])

    def bare_fields(self):
        """Fields without an example."""
        return [
            name for title, schema in self.document["components"]["schemas"].items() for name in self.bare(schema, title)
        ]

    def bare(self, schema, place):
        for name, field in schema.get("properties", {}).items():
            whole = self.resolved(field)
            # One that is another schema, or a list of it, has the examples of that schema's fields.
            parts = self.resolved(whole.get("items", {}))
            is_told = TELLING & (set(field) | set(whole)) or "properties" in whole or "properties" in parts
            if not is_told and (id(schema), name) not in self.shown:
                yield f"{place}.{name}"
            if "$ref" not in field:
                yield from self.bare(field, f"{place}.{name}")
        parts = [schema.get(key) for key in ("items", "additionalProperties")]
        parts += [one for key in ("oneOf", "anyOf", "allOf") for one in schema.get(key, [])]
        for part in parts:
            if isinstance(part, dict) and "$ref" not in part:
                yield from self.bare(part, place)


class ExampleTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = yaml.safe_load(reference.DOCUMENT.read_text(encoding="utf-8"))

    def test_every_body_has_an_example(self):
        self.assertEqual(Examples(self.document).bare_bodies, [])

    def test_every_field_has_an_example(self):
        self.assertEqual(Examples(self.document).bare_fields(), [])

    def test_a_field_and_a_body_without_one_are_found(self):
        changed = copy.deepcopy(self.document)
        del changed["components"]["schemas"]["BudgetUse"]["properties"]["spent"]["examples"]
        del changed["paths"]["/v1/doctor"]["post"]["responses"]["200"]["content"]["application/json"]["example"]
        examples = Examples(changed)
        self.assertIn("BudgetUse.spent", examples.bare_fields())
        self.assertEqual(examples.bare_bodies, ["post /v1/doctor 200"])


if __name__ == "__main__":
    unittest.main()
