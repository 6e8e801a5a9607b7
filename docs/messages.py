"""Writes docs/MESSAGES.md, every sentence of a note or error: `python -m docs.messages`."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator

from docs.map import PARTS, REPOSITORY
from profet_core.messages import SENTENCES

DOCUMENT = REPOSITORY / "docs" / "MESSAGES.md"
_HEAD = """# Messages

What PROFET says about an answer, and why it refuses one. `python -m docs.messages` writes this file.

Notes and warnings have a code (`profet_core/messages.py`); errors have the code of their class
(`profet_core/errors.py`). Programs compare codes: sentences may change. `…` stands for a value.
"""


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


def document() -> str:
    """The document as the source has it."""
    errors = defaultdict(set)
    for part in PARTS:
        for path in (REPOSITORY / part).rglob("*.py"):
            for name, sentence in _raised(ast.parse(path.read_text(encoding="utf-8"))):
                errors[name].add(sentence)
    notes = [f"- `{code}`: {sentence}" for code, sentence in SENTENCES.items()]
    found = [_HEAD, "## Notes and warnings\n", *notes, "\n## Errors"]
    for name in sorted(errors):
        found += [f"\n### {name}\n", *(f"- {sentence}" for sentence in sorted(errors[name]))]
    return "\n".join(found) + "\n"


def _raised(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Class and sentence of every error of our own that is made from literal text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
            sentence = _text(node.args[0]) if node.args else "…"
            if " " in sentence.strip("… :.") and not hasattr(builtins, node.func.id):
                yield node.func.id, sentence


def _text(node: ast.expr) -> str:
    """Literal text, with its values left out."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_text, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case _:
            return "…"


if __name__ == "__main__":
    main()
