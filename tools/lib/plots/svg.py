"""A small writer of SVG that is readable on light and on dark pages, and needs no other file."""

from xml.sax.saxutils import escape, quoteattr

STYLE = """
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1d2127 }
  .title { font-size: 16px; font-weight: 600 } .soft { fill: #5a6472; font-size: 12px }
  .paper { fill: #ffffff } .grid { stroke: #e1e5ea } .axis { stroke: #9aa6b4 }
  .ours { stroke: #0b57b8; fill: #0b57b8 } .theirs { stroke: #b4530a; fill: #b4530a } .faint { stroke: #5a6472; fill: #5a6472 }
  text.ours, text.theirs, text.faint { stroke: none }
  .line { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 4 4 } .bar { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e3e7ec } .soft { fill: #9aa6b4 } .paper { fill: #14171b } .grid { stroke: #2a313a } .axis { stroke: #5a6472 }
    .ours { stroke: #7ab7ff; fill: #7ab7ff } .theirs { stroke: #f0a868; fill: #f0a868 } .faint { stroke: #9aa6b4; fill: #9aa6b4 }
    .line { fill: none }
  }
"""


class Drawing:
    def __init__(self, width, height, title, description):
        self.size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        self.head = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
        self.parts = [f'<rect class="paper" width="{width}" height="{height}" rx="6"/>']

    def text(self, x, y, words, of="", anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class={quoteattr(of)} text-anchor="{anchor}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, of):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class={quoteattr(of)}/>')

    def path(self, points, of):
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{places}" class={quoteattr("line " + of)}/>')
        for x, y in points:
            self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class={quoteattr(of)}/>')

    def bar(self, x, y, width, height, of):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class={quoteattr("bar " + of)}/>')

    def __str__(self):
        body = "\n".join(self.parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {self.size} role="img">\n{self.head}\n<style>{STYLE}</style>\n{body}\n</svg>\n'
