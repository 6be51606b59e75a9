"""What makes a sentence hard to read. Texts in, findings out: no files."""

import re

# A sentence with more words is long.
LONGEST = 30
# A sentence with more conditions needs a list or a table.
MOST_CONDITIONS = 2
# Fewer words are a label or a heading.
SHORTEST = 4

WORD = re.compile(r"[A-Za-z][\w'’-]*")
CONDITION = re.compile(r"\b(if|unless|when|whenever|while|until|as long as|provided that)\b", re.I)

# By name: what to look for, each with the advice for the writer.
RULES = {
    "a clause as the subject": (
        "name the thing: 'A refused request changes nothing'",
        r"^(what|who|whoever|whatever|whichever) .{3,60}? "
        r"(is|are|has|have|was|were|goes|go|gets|leaves|waits|keeps|stays|may|must|can|costs|counts|takes)\b(?!.*\?)",
        r"^(what|whatever) (is|are|was|were) \w+ (\w+s|have|may|must|can)\b(?!.*\?)",
    ),
    "a passive that hides who acts": (
        "say who does it",
        r"\b(is|are|was|were) (told|spoken|asked|looked|waited|made use) (of|for|after|by)\b",
        r"\b(nobody|none|nothing) (is|are|has|was) (sent|told|given|asked|left|owed)\b",
        r"\bso that (nobody|none|nothing)\b",
        # Three in one sentence.
        r"(\b(is|are|was|were|been|being|be) (\w+ly )?\w{2,}(ed|en|wn|ught|ilt)\b.*){3}",
    ),
    "several conditions": (
        "one condition a sentence: make a list or a table",
        lambda sentence: len(CONDITION.findall(sentence)) > MOST_CONDITIONS,
    ),
    "a pile of nouns": (
        "turn a noun into its verb",
        r"\b(\w+ of (the |a |an |its |their |one |all )?){3}\w+",
        r"\bof (which|whom|those that|those who|what)\b",
        r"\b(that|those) of (the|a|an|one|another|others|several)\b.{0,40}\bthat\b",
    ),
    "what something is not": (
        "say what it is",
        r"\bnone that\b",
        r"\b(is|are) none\b",
        r"\bnothing but\b",
        r"\bno sooner than\b",
        r"\bbut for\b",
        r"\bwhere (there is|there are|nobody|none|no)\b",
    ),
    "turned around": (
        "subject, verb, object",
        r"^(to|for|of|by|in|on|with|without|besides|else)\b[^,.]{0,40} (is|are|has|have|goes|stands|comes|lies) ",
        r"\b(and|or|but) (so|else|then) (does|do|is|are|it|they)\b",
        r"\bstands? (in|beside|behind|against|for)\b",
    ),
    "two sentences in one": (
        "use a full stop or a list",
        r"; (so|and|but|else|then) .{60,}",
        r": .{90,}; ",
    ),
    "a rare phrase": (
        "use the common word",
        r"\b(goes|go|went|going) on\b",
        r"\banew\b",
        r"\bin (the|its|their) stead\b",
        r"\bso long after\b",
        r"\bas far as\b.{0,60}\btells\b",
        r"\blets?\b[^,.]{2,40}\b(in|on|go)\b(?=[ ,.;])",
        r"\bby (itself|themselves)\b",
        r"\bhow (things|it) stands?\b",
        r"\bcomes? to\b(?! (rest|an end))",
    ),
}


def matcher(pattern):
    return pattern if callable(pattern) else re.compile(pattern, re.I).search


MATCHERS = {name: (advice, [matcher(one) for one in patterns]) for name, (advice, *patterns) in RULES.items()}


def sentences(text):
    """The sentences of a text, without headings, tables, code and marks of Markdown."""
    text = re.sub(r"^---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", text, flags=re.S)
    text = re.sub(r"^( {3,}\S.*|\|.*\||#+ .*|> \[![A-Z]+\])$", "\n", text, flags=re.M)
    text = re.sub(r"^> ?", "", text, flags=re.M)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)|`+([^`]*)`+|<[^>]+>", lambda found: found[1] or found[2] or "", text)
    for paragraph in re.split(r"\n\s*\n|\n\s*(?=(?:[-*]|\d+\.) )", text):
        paragraph = re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(paragraph.split()))
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", paragraph):
            if words(sentence) >= SHORTEST:
                yield sentence


def words(sentence):
    return len(WORD.findall(sentence))


def findings(sentence):
    """The rules that a sentence breaks, each with its advice."""
    count = words(sentence)
    if count > LONGEST:
        yield f"{count} words", f"at most {LONGEST}"
    for name, (advice, matchers) in MATCHERS.items():
        if any(match(sentence) for match in matchers):
            yield name, advice
