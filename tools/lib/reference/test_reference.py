"""The page is whole: well-formed, every link leads somewhere, every operation and schema is on it, nothing is loaded."""

import unittest
from html.parser import HTMLParser

import reference
import text
import yaml

EMPTY = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Holds the tags against each other, and collects ids and links."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.links, self.loaded, self.problems = [], [], [], [], []
        self.feed(page)
        self.problems += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a":
            self.links.append(named["href"])
        elif tag in ("script", "img", "iframe", "object", "link"):
            self.loaded.append((tag, named.get("src") or named.get("href")))
        if "style" in named or any(name.startswith("on") for name in named):
            self.problems.append(f"<{tag}> has style or a handler of its own")
        if tag == "p" and "p" in self.open:
            self.problems.append(f"<p> in <p>, line {self.getpos()[0]}")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing, line {self.getpos()[0]}")


class PageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = yaml.safe_load(reference.DOCUMENT.read_text(encoding="utf-8"))
        cls.page = reference.page(cls.document)
        cls.reader = Reader(cls.page)

    def test_it_is_well_formed(self):
        self.assertEqual(self.reader.problems, [])
        self.assertEqual(len(self.reader.ids), len(set(self.reader.ids)))

    def test_every_link_on_the_page_leads_somewhere(self):
        inner = {link[1:] for link in self.reader.links if link.startswith("#")}
        self.assertEqual(inner - set(self.reader.ids), set())

    def test_nothing_is_loaded_but_the_style_sheet(self):
        self.assertEqual(self.reader.loaded, [("link", "docs/style.css")])
        self.assertEqual([link for link in self.reader.links if ":" in link], [])

    def test_every_operation_and_schema_is_on_it(self):
        operations = [one["operationId"] for item in self.document["paths"].values() for one in item.values()]
        schemas = [f"schema-{name}" for name in self.document["components"]["schemas"]]
        self.assertEqual(set(operations + schemas) - set(self.reader.ids), set())

    def test_every_example_of_a_call_names_its_path(self):
        self.assertNotIn("{bundle_id}", "".join(part.split("</pre>")[0] for part in self.page.split("<pre>")[1:]))


class TextTests(unittest.TestCase):
    def test_markdown_becomes_html_and_text_stays_text(self):
        self.assertEqual(text.inline("**a** `<b>` & [c](d.md)"), "<strong>a</strong> <code>&lt;b&gt;</code> &amp; c")
        self.assertEqual(text.blocks("One\nline.\n\n- a\n- b"), "<p>One line.</p>\n<ul><li>a</li><li>b</li></ul>")
        self.assertIn("<tr><td>1</td><td><code>x</code></td></tr>", text.blocks("| a | b |\n|---|---|\n| 1 | `x` |"))


if __name__ == "__main__":
    unittest.main()
