"""Operations of the document, as HTML."""

import json
import shlex

from schemas import entry, words
from text import blocks, escape, inline

ADDRESS = "$TALLY_URL"


class Operations:
    def __init__(self, document):
        self.document = document

    def resolved(self, value):
        """What a reference leads to, or the value itself."""
        if "$ref" not in value:
            return value
        found = self.document
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        return found

    def tagged(self, tag):
        """The operations with a tag: method, path and what the document says."""
        return [
            (method.upper(), path, operation)
            for path, item in self.document["paths"].items()
            for method, operation in item.items()
            if tag in operation["tags"]
        ]

    def article(self, method, path, operation):
        parts = [
            f'<article id="{operation["operationId"]}"><h3>{inline(operation["summary"])}</h3>',
            f'<p class="call"><b>{method}</b> <code>{escape(path)}</code></p>',
            blocks(operation.get("description")),
            self.parameters(operation),
            self.body(method, path, operation),
            self.answers(operation),
            "</article>",
        ]
        return "\n".join(filter(None, parts))

    def parameters(self, operation):
        shown = []
        for one in map(self.resolved, operation.get("parameters", [])):
            name = one["name"] if one["in"] != "query" else f"?{one['name']}="
            shown.append(entry(name, one["schema"], one.get("required", False), one["description"]))
        return f"<h4>Parameters</h4><dl>{''.join(shown)}</dl>" if shown else ""

    def body(self, method, path, operation):
        """The request's body with a call for each example; without a body, the call."""
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if not content:
            return details("Example", self.curl(method, path, operation, None))
        calls = [
            details(f"Example: {name.replace('_', ' ')}", self.curl(method, path, operation, example["value"]))
            for name, example in content["examples"].items()
        ]
        return f"<h4>Body</h4><p>{words(content['schema'])}</p>" + "".join(calls)

    def curl(self, method, path, operation, body):
        """A call that a shell takes."""
        given = [self.resolved(one) for one in operation.get("parameters", [])]
        for one in given:
            path = path.replace("{" + one["name"] + "}", self.example(one))
        query = "&".join(f"{one['name']}={self.example(one)}" for one in given if one["in"] == "query" and one.get("required"))
        path += f"?{query}" if query else ""
        lines = [f'curl --fail-with-body -sS {"" if method == "GET" else f"-X {method} "}"{ADDRESS}{path}"']
        if operation.get("security") != []:
            held = "$TICKET" if operation.get("security", [{}])[0].keys() == {"ticket"} else "$TALLY_API_KEY"
            lines.append(f'-H "Authorization: Bearer {held}"')
        if body is not None:
            lines.append("-H 'Content-Type: application/json'")
            lines.append("-d " + shlex.quote(json.dumps(body, indent=2, ensure_ascii=False)))
        return " \\\n  ".join(lines)

    def example(self, parameter):
        """A value for a segment of a path."""
        for one in (parameter, parameter["schema"], self.resolved(parameter["schema"])):
            if "example" in one:
                return str(one["example"])
            if one.get("examples"):
                return str(one["examples"][0])
            if "enum" in one:
                return str(one["enum"][0])
        return f"${parameter['name'].upper()}"

    def answers(self, operation):
        shown, refused = [], []
        for status, answer in operation["responses"].items():
            answer = self.resolved(answer)
            problem = answer.get("content", {}).get("application/problem+json")
            if problem and int(status) >= 400:
                refused.append((status, problem))
            else:
                shown.append(self.success(status, answer))
        errors = f"<p>Errors: {', '.join(self.refusal(*one) for one in refused)}.</p>" if refused else ""
        return f"<h4>Answers</h4>{''.join(shown)}{errors}"

    def success(self, status, answer):
        text = f"<p><b>{status}</b> {inline(' '.join(answer['description'].split()))}"
        for kind, content in answer.get("content", {}).items():
            if "json" in kind or "$ref" in content["schema"]:
                text += f' <span class="type">{words(content["schema"])}</span>'
            for name, value in self.examples(content):
                text += details(name, value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
        return text.replace("<details>", "</p><details>", 1) if "<details>" in text else text + "</p>"

    @staticmethod
    def examples(content):
        if "example" in content:
            yield "Answer", content["example"]
        for name, example in content.get("examples", {}).items():
            yield f"Answer: {name.replace('_', ' ')}", example["value"]

    @staticmethod
    def refusal(status, problem):
        codes = [example["value"]["code"] for example in problem.get("examples", {}).values()]
        if not codes and "example" in problem:
            codes = [problem["example"]["code"]]
        if len(codes) == 1:
            return f'<a href="docs/errors/{codes[0]}">{status}</a>'
        return f'<a href="docs/errors">{status}</a>'


def details(title, text):
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text.strip())}</pre></details>"
