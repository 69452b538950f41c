"""The documentation page of the HTTP API; it loads nothing from other sites."""

from collections.abc import Mapping
from html import escape
from typing import Any

from attnflow.view.app._errors import Code

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
<p>The <a href="/">app</a> uses this API, and other programs can too. Its OpenAPI description is
<a href="/openapi.json">openapi.json</a>. Requests and responses are JSON.
In this example <code>ADDRESS</code> is what your browser shows before <code>/docs</code>:</p>
<pre><code>{example}</code></pre>
{operations}
<h2>Parts of responses</h2>
{parts}
<h2>Errors</h2>
<p>An error response has a status of 400 or more and this body:
<code>{{"error": {{"code": …, "message": …}}}}</code>. The message states the problem, the value
received and the fix. The codes:</p>
{codes}
</main>
</body>
</html>
"""
# Schemas that the tables of operations refer to.
_PARTS = ("PredictionInfo", "JobProgress", "ErrorDetail", "ModelInfo", "Limits")
_EXAMPLE = """curl ADDRESS/api/explain \\
  -H 'Content-Type: application/json' \\
  -d '{"text": "the key to the cabinets"}'"""


def docs_page(description: Mapping[str, Any], codes: Mapping[Code, str]) -> str:
    """Return the page for an OpenAPI description and the codes of errors."""
    schemas = description["components"]["schemas"]
    operations = [
        _operation(method.upper(), path, operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    return _PAGE.format(
        example=escape(_EXAMPLE),
        operations="\n".join(operations),
        parts="\n".join(f"<h3>{name}</h3>\n{_fields(schemas[name])}" for name in _PARTS),
        codes=_table(
            ["code", "when"], [[f"<code>{c}</code>", escape(w)] for c, w in codes.items()]
        ),
    )


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]
) -> str:
    parts = [
        f"<h2><code>{escape(method)} {escape(path)}</code></h2>",
        f"<p>{escape(operation['description'])}</p>",
    ]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(_fields(_resolve(schema, schemas), required=True))
    response = next(iter(operation["responses"]["200"]["content"].values()))["schema"]
    parts += ["<p>Response:</p>", _fields(_resolve(response, schemas))]
    return "\n".join(parts)


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _fields(schema: Mapping[str, Any], *, required: bool = False) -> str:
    names = schema.get("required", ()) if required else ()
    rows = [
        [
            f"<code>{escape(name)}</code>",
            escape(_type_name(field)) + (", required" if name in names else ""),
            escape(field.get("description", "")),
        ]
        for name, field in schema["properties"].items()
    ]
    return _table(["field", "type", "meaning"], rows)


def _type_name(field: Mapping[str, Any]) -> str:
    """Return a field's type in a word or two, with its limits."""
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "anyOf" in field:
        return " or ".join(_type_name(option) for option in field["anyOf"])
    if "enum" in field:
        return " or ".join(f'"{value}"' for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type_name(field['items'])}"
    most = f" of at most {field['maxLength']} characters" if "maxLength" in field else ""
    return field.get("type", "any") + most


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of cells that are HTML already."""
    cells = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<thead><tr>{cells}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table>{table}</table></div>'
