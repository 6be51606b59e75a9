"""Makes the page that the daemon serves at /docs, from docs/openapi.yaml: see --help."""

import argparse
import re
import sys
from pathlib import Path

import text
import yaml
from operations import Operations
from schemas import section
from text import blocks, escape, inline

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "docs/openapi.yaml"
PAGE = ROOT / "Sources/HTTPAPI/Documents/reference.html"


def page(document):
    """The whole page."""
    operations = Operations(document)
    tags = document["tags"]
    text.LINKS = links(document)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<title>HTTP API – Tally</title>\n<link rel="stylesheet" href="docs/style.css">\n</head>\n<body>',
        navigation(operations, tags),
        f'<main>\n<h1 id="top">Tally: the HTTP API</h1>\n<p class="lead">{escape(document["info"]["summary"])}</p>',
        blocks(document["info"]["description"]),
        "<p>For programs: <a href=\"openapi.yaml\">openapi.yaml</a>. All <a href=\"docs/errors\">error codes</a>.</p>",
        authentication(document["components"]["securitySchemes"]),
    ]
    for tag in tags:
        parts.append(f'<h2 id="tag-{tag["name"]}">{title(tag)}</h2>\n<p>{inline(tag["description"])}</p>')
        parts += [operations.article(*one) for one in operations.tagged(tag["name"])]
    parts.append('<h2 id="schemas">Schemas</h2>\n<p>The types of bodies and their fields.</p>')
    parts += [section(*one) for one in sorted(document["components"]["schemas"].items())]
    parts.append("</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def links(document):
    """Where the names of operations, schemas and error codes lead. A plain word such as `push` may be a value: no link."""
    schemas = document["components"]["schemas"]
    named = {one["operationId"]: f"#{one['operationId']}" for item in document["paths"].values() for one in item.values()}
    named |= {name: f"#schema-{name}" for name in schemas}
    codes = re.findall(r"^\| `(\w+)` \|", schemas["Problem"]["description"], re.M)
    named |= {code: f"docs/errors/{code}" for code in codes}
    return {name: place for name, place in named.items() if re.search("[A-Z_]", name)}


def title(tag):
    return "API keys" if tag["name"] == "keys" else tag["name"].capitalize()


def navigation(operations, tags):
    groups = []
    for tag in tags:
        links = "".join(
            f'<li><a href="#{one["operationId"]}">{inline(one["summary"])}</a></li>'
            for _, _, one in operations.tagged(tag["name"])
        )
        groups.append(f'<details><summary>{title(tag)}</summary><ul>{links}</ul></details>')
    return (
        '<nav aria-label="Contents">\n<p><a href="#top">Tally HTTP API</a></p>\n'
        + "\n".join(groups)
        + '\n<p><a href="#schemas">Schemas</a></p>\n<p><a href="docs/errors">Errors</a></p>\n</nav>'
    )


def authentication(schemes):
    shown = "".join(f"<dt>{name}</dt><dd>{blocks(one['description'])}</dd>" for name, one in schemes.items())
    return (
        '<h2 id="authentication">Authentication</h2>\n'
        f"<p>Send <code>Authorization: Bearer …</code> with one of these:</p>\n<dl>{shown}</dl>"
    )


def main():
    parser = argparse.ArgumentParser(
        prog="tools/reference",
        description="Makes Sources/HTTPAPI/Documents/reference.html from docs/openapi.yaml. tallyd serves it at /docs.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is not current")
    options = parser.parse_args()
    made = page(yaml.safe_load(DOCUMENT.read_text(encoding="utf-8")))
    if options.check:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == made:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is not current: run tools/reference", file=sys.stderr)
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
