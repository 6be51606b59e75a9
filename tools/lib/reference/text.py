"""The Markdown that descriptions use, as HTML: paragraphs, lists, tables, code, bold, links as their text."""

import html
import re

# Where code that is the name of something leads, by its text.
LINKS = {}


def escape(text):
    return html.escape(str(text), quote=True)


def inline(text):
    """One line of Markdown."""
    parts = re.split(r"`([^`]*)`", text)
    for place, part in enumerate(parts):
        if place % 2:
            code = f"<code>{escape(part)}</code>"
            parts[place] = f'<a href="{LINKS[part]}">{code}</a>' if part in LINKS else code
        else:
            unlinked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", escape(part))
            parts[place] = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", unlinked)
    return "".join(parts)


def blocks(text):
    """A description of several paragraphs."""
    return "\n".join(block(one.strip("\n")) for one in re.split(r"\n\s*\n", (text or "").strip()) if one)


def block(text):
    lines = text.splitlines()
    if lines[0].startswith("|"):
        return table(lines)
    if lines[0].startswith("- "):
        items = re.split(r"\n- ", text[2:])
        return "<ul>" + "".join(f"<li>{inline(' '.join(item.split()))}</li>" for item in items) + "</ul>"
    return f"<p>{inline(' '.join(text.split()))}</p>"


def table(lines):
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    shown = "".join(row("td", cells) for cells in rows)
    return f'<div class="wide"><table>{row("th", head)}{shown}</table></div>'


def row(tag, cells):
    return "<tr>" + "".join(f"<{tag}>{inline(cell)}</{tag}>" for cell in cells) + "</tr>"
