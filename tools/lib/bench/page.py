"""Tables in the documents that a tool writes: Markdown, between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""


def markdown_table(rows, left=0):
    """Lines; the first row is the head, the first `left` columns stand to the left, the others to the right."""
    head, *rest = rows
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if column < left else "---:" for column in range(len(head))) + "|"
    for row in rest:
        yield "| " + " | ".join(row) + " |"


def replace_between(path, name, text):
    """Puts a text between the two markers of a page; raises ValueError if they are not there once each, in order."""
    with open(path, encoding="utf-8") as file:
        before = file.read()
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if before.count(begin) != 1 or before.count(end) != 1 or before.index(begin) > before.index(end):
        raise ValueError(f"{path} needs {begin} and {end}, once each and in this order")
    head, rest = before.split(begin)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")
