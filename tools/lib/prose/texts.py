"""The texts in the files of the project: pages, descriptions in YAML, string literals in Swift."""

import re


def markdown(source):
    """A page, whole: what is prose in it is for the rules to find."""
    return [source]


KEY = re.compile(r"(?:description|summary): *")


def yaml(source):
    """The values of `description` and `summary`, in every style that the API's document uses."""
    lines = source.splitlines()
    found = []
    for number, line in enumerate(lines):
        for key in KEY.finditer(line):
            rest = line[key.end() :]
            deeper = following(lines, number)
            if rest[:1] in ("|", ">"):
                found.append("\n".join(deeper))
            else:
                found.append(scalar("\n".join([rest] + deeper), inside="{" in line[: key.start()]))
    return found


def following(lines, number):
    """The lines below one that are indented deeper, without their indentation."""
    indent = re.match(r"[ -]*", lines[number])[0]
    deeper = []
    for line in lines[number + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= len(indent):
            break
        deeper.append(line.strip())
    return deeper


def scalar(text, inside):
    """The scalar that a text begins with; `inside` braces it ends at a comma before a key, or at the brace."""
    if text.startswith("'"):
        return re.match(r"'((?:[^']|'')*)'", text)[1].replace("''", "'")
    if text.startswith('"'):
        return re.match(r'"((?:[^"\\]|\\.)*)"', text)[1]
    return re.match(r"(.*?)(?=, \w+: |\}|$)" if inside else r".*", text, re.S)[0]


STATEMENT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|SET|BEGIN|COMMIT|ROLLBACK|LOCK|AND|OR|FROM|WHERE|VALUES"
    r"|EXPLAIN|NOTIFY|LISTEN|ORDER|LIMIT|FOR|JOIN|LEFT|EXISTS|NOT|ON|RETURNING|FETCH|DECLARE|ANALYZE|REINDEX|TRUNCATE)\b"
)
CODE = re.compile(r"[{}=]|\$\d|::|->|\w\(\)|_\w+ ", re.S)


def swift(source):
    """The string literals that are sentences: an interpolation is one word, statements in SQL are left out."""
    found = []
    for literal in literals(source):
        for paragraph in re.split(r"\n\s*\n|\n(?=  )", literal):
            if not STATEMENT.match(paragraph) and not CODE.search(paragraph):
                found.append(paragraph)
    return found


def literals(source):
    """All string literals, joined where `+` joins them."""
    joined, place, last_end = [], 0, None
    token = re.compile(r'//[^\n]*|/\*.*?\*/|(#*)("""|")', re.S)
    while found := token.search(source, place):
        if found[2] is None:
            place = found.end()
            continue
        text, place = literal(source, found.end(), found[2], found[1])
        if last_end is not None and re.fullmatch(r"\s*\+\s*", source[last_end : found.start()]):
            joined[-1] += text
        else:
            joined.append(text)
        last_end = place
    return joined


ESCAPES = {"n": "\n", "t": " ", "\\": "\\", '"': '"', "'": "'", "0": "", "r": ""}


def literal(source, place, quote, hashes):
    """The text of a literal from behind its opening quote, and the place behind its closing one."""
    text, escape, close = [], "\\" + hashes, quote + hashes
    while place < len(source) and not source.startswith(close, place):
        if not source.startswith(escape, place):
            text.append(source[place])
            place += 1
            continue
        place += len(escape)
        if source[place] == "(":
            place = behind_parentheses(source, place)
            text.append("X")
        elif source[place] == "u":
            place = source.index("}", place) + 1
        elif source[place] == "\n":
            # The line goes on in the next one.
            place += len(source[place:]) - len(source[place:].lstrip())
        else:
            text.append(ESCAPES.get(source[place], ""))
            place += 1
    return dedent("".join(text)) if quote == '"""' else "".join(text), place + len(close)


def behind_parentheses(source, place):
    """The place behind the parenthesis that closes the one at `place`; a literal in between may hold others."""
    depth = 0
    while place < len(source):
        if source[place] in "()":
            depth += 1 if source[place] == "(" else -1
        elif source[place] == '"':
            _, place = literal(source, place + 1, '"', "")
            continue
        place += 1
        if depth == 0:
            return place
    return place


def dedent(text):
    """A literal of several lines without the indentation of its last line."""
    lines = text.strip("\n").splitlines()
    filled = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    indent = min(filled, default=0)
    return "\n".join(line[indent:] for line in lines)


READERS = {".md": markdown, ".yaml": yaml, ".swift": swift}
