"""Tables in the documents that a tool writes: Markdown, between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

from measure import Failure


def markdown_table(rows, left=0):
    """Lines; the first row is the head, the first `left` columns stand to the left, the others to the right."""
    head, *rest = rows
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if column < left else "---:" for column in range(len(head))) + "|"
    yield from markdown_rows(rest)


def markdown_rows(rows):
    """Lines of a table below its head."""
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _divided(path, name):
    """A page up to the first of the two markers, between them, and from the second on."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise Failure(f"{path} needs {begin} and {end}, once each and in this order")
    first, last = page.index(begin) + len(begin), page.index(end)
    return page[:first], page[first:last], page[last:]


def text_between(path, name):
    """What stands between the two markers of a page; a Failure if they are not there once each, in order."""
    return _divided(path, name)[1]


def replace_between(path, name, text):
    """Puts a text between the two markers of a page; raises what `text_between` raises."""
    before, _, after = _divided(path, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}\n{text}\n{after}")
