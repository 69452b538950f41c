"""An explanation as a JSON document: what the command prints and what the local app answers."""

import math
from typing import Any

from attnflow.evaluate._explain import Explanation


def explanation_document(explanation: Explanation, model: str, tokenizer: Any) -> dict[str, Any]:
    """Everything there is to tell about one text, in types that JSON has.

    Parameters
    ----------
    explanation
        What `explain` gave.
    model
        The name that the model goes by.
    tokenizer
        What read the text; it tells which tokens stand for words that the model does not know.

    Notes
    -----
    A correlation that is not defined, as of scores that are all equal, is None.

    Examples
    --------
    >>> from attnflow import paper
    >>> from attnflow.evaluate._explain import explain
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
        "scores": {name: each.scores[0, 0].tolist() for name, each in explanation.scores.items()},
        "importance": {name: each.values.tolist() for name, each in explanation.importance.items()},
        "correlations": {
            importance: {name: None if math.isnan(rho) else rho for name, rho in row.items()}
            for importance, row in explanation.correlations().items()
        },
        "saturated": explanation.saturated,
        "settings": explanation.settings(),
    }


def unknown_words(explanation: Explanation, tokenizer: Any) -> dict[int, str]:
    """Position → word of the text, of the tokens that stand for words the model does not know."""
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
