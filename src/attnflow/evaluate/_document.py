"""An explanation as a JSON document, and the words of its text that the model does not know."""

import math
from typing import Any

from attnflow.evaluate._explanation import Explanation


def explanation_document(explanation: Explanation, model: str, tokenizer: Any) -> dict[str, Any]:
    """Return an explanation as one JSON document, as the command prints and the app sends it.

    Parameters
    ----------
    explanation
        The result of `explain`.
    model
        The name of the model.
    tokenizer
        The model's tokenizer; its unknown token marks unknown words.

    Notes
    -----
    An undefined correlation, as of equal scores or of fewer than three tokens, is None.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.evaluate import explain, explanation_document
    >>> shipped = paper.load()
    >>> e = explain(shipped.model, shipped.tokenizer, "the key to the cabinets")
    >>> document = explanation_document(e, "verb-number", shipped.tokenizer)
    >>> document["prediction"]["label"], [*document["scores"]]
    ('singular', ['raw', 'rollout', 'flow'])
    """
    unknown = unknown_words(explanation, tokenizer)
    return {
        "text": explanation.text,
        "model": model,
        "tokens": explanation.tokens,
        "unknown": {str(position): word for position, word in unknown.items()},
        "prediction": {
            "label": explanation.prediction.label,
            "probabilities": dict(explanation.prediction.probabilities),
        },
        "scores": {name: t.scores[0, 0].tolist() for name, t in explanation.scores.items()},
        "importance": {name: i.values.tolist() for name, i in explanation.importance.items()},
        "correlations": {
            importance: {name: None if math.isnan(rho) else rho for name, rho in row.items()}
            for importance, row in explanation.correlations().items()
        },
        "without": list(explanation.without),
        "saturated": explanation.saturated,
        "flat": explanation.flat,
        "settings": explanation.settings(),
    }


def unknown_words(explanation: Explanation, tokenizer: Any) -> dict[int, str]:
    """Return the words of the text that are not in the vocabulary, by position."""
    unknown = getattr(tokenizer, "unk_token", None)
    origin = next(iter(explanation.importance.values())).origin
    if unknown is None or origin is None or origin.spans is None:
        return {}
    pairs = zip(explanation.tokens, origin.spans, strict=True)
    return {
        place: explanation.text[slice(*span)]
        for place, (token, span) in enumerate(pairs)
        if token == unknown and span is not None
    }
