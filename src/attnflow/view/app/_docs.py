"""The API's documentation as a page of our own, which needs no other site."""

from collections.abc import Mapping
from html import escape
from typing import Any

from attnflow.view.app._refusal import Code

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>attnflow: HTTP API</title>
<link rel="stylesheet" href="/page/app.css">
</head>
<body class="docs">
<main>
<h1>HTTP API</h1>
<p>The page of the <a href="/">app</a> uses it, and other programs may. For machines it is
described in <a href="/openapi.json">openapi.json</a>. Requests and answers are JSON.
In this example <code>ADDRESS</code> is what your browser shows before <code>/docs</code>:</p>
<pre><code>{example}</code></pre>
{operations}
<h2>Parts of answers</h2>
{parts}
<h2>Errors</h2>
<p>An answer that is an error has a status of 400 or more and this body:
<code>{{"error": {{"code": …, "message": …}}}}</code>. The message says what came, what is wanted
and what to do. The codes:</p>
{codes}
</main>
</body>
</html>
"""
# What the tables above them name as the kind of a field.
_PARTS = ("Prediction", "Step", "Wrong", "Model", "Bounds")
_EXAMPLE = """curl ADDRESS/api/explain \\
  -H 'Content-Type: application/json' \\
  -d '{"text": "the key to the cabinets"}'"""


def docs_page(description: Mapping[str, Any], codes: Mapping[Code, str]) -> str:
    """The page for an OpenAPI description and the codes of errors."""
    shapes = description["components"]["schemas"]
    operations = [
        _operation(method.upper(), path, operation, shapes)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return _PAGE.format(
        example=escape(_EXAMPLE),
        operations="\n".join(operations),
        parts="\n".join(f"<h3>{name}</h3>\n{_fields(shapes[name])}" for name in _PARTS),
        codes=_table(
            ["code", "when"], [[f"<code>{c}</code>", escape(w)] for c, w in codes.items()]
        ),
    )


def _operation(
    method: str, path: str, operation: Mapping[str, Any], shapes: Mapping[str, Any]
) -> str:
    parts = [
        f"<h2><code>{escape(method)} {escape(path)}</code></h2>",
        f"<p>{escape(operation['description'])}</p>",
    ]
    if "requestBody" in operation:
        shape = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(_fields(_named(shape, shapes), asked=True))
    answer = next(iter(operation["responses"]["200"]["content"].values()))["schema"]
    parts += ["<p>The answer:</p>", _fields(_named(answer, shapes))]
    return "\n".join(parts)


def _named(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    return shapes[shape["$ref"].rpartition("/")[2]] if "$ref" in shape else shape


def _fields(shape: Mapping[str, Any], *, asked: bool = False) -> str:
    needed = shape.get("required", ()) if asked else ()
    rows = [
        [
            f"<code>{escape(name)}</code>",
            escape(_kind(field)) + (", needed" if name in needed else ""),
            escape(field.get("description", "")),
        ]
        for name, field in shape["properties"].items()
    ]
    return _table(["field", "kind", "meaning"], rows)


def _kind(field: Mapping[str, Any]) -> str:
    """A field's type in a word or two, with its limits."""
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_kind(each) for each in field["anyOf"])
    if "enum" in field:
        return " or ".join(f'"{each}"' for each in field["enum"])
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}"
    most = f" of at most {field['maxLength']} characters" if "maxLength" in field else ""
    return field.get("type", "any") + most


def _table(head: list[str], rows: list[list[str]]) -> str:
    """A table of cells that are HTML already."""
    cells = "".join(f'<th scope="col">{each}</th>' for each in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table>{table}</table></div>'
