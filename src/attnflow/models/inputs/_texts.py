"""Texts in the forms that callers have them: a text, a pair of texts, the messages of a chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from attnflow.errors import InputError
from attnflow.models._model import explain_failure, inner_tokenizer

# Two texts that a model reads together, such as a question and a passage.
Pair: TypeAlias = tuple[str, str]
# Messages with a role and a content, for the chat template of a tokenizer.
Chat: TypeAlias = "list[dict[str, str]]"
# What gives one result.
OneText: TypeAlias = "str | Pair | Chat"


def split_texts(given: object) -> tuple[list[Any], bool]:
    """Return the texts one by one, and whether it is one text, not a list of them.

    A tuple is a pair of texts, and a list of mappings the messages of one chat.

    >>> split_texts(["a", "b"]), split_texts(("a", "b"))
    ((['a', 'b'], False), ([('a', 'b')], True))
    """
    if isinstance(given, tuple):
        check_pair(cast("tuple[object, ...]", given))
    if isinstance(given, list) and not is_chat(cast("object", given)):
        return [*cast("list[Any]", given)], False
    return [given], True


def is_text(given: object) -> bool:
    """Whether this is a text, a pair of texts, or the messages of a chat."""
    return isinstance(given, str | tuple) or is_chat(given)


def is_chat(given: object) -> bool:
    """Whether these are the messages of a chat: a list of mappings."""
    if not isinstance(given, list) or not given:
        return False
    return all(isinstance(message, Mapping) for message in cast("list[object]", given))


def check_pair(given: tuple[object, ...]) -> None:
    """Reject a tuple that is not a pair of texts, since it could be meant as several texts."""
    if len(given) != 2 or not all(isinstance(part, str) for part in given):
        kinds = ", ".join(type(part).__name__ for part in given[:5])
        raise InputError(
            f"expected a tuple of two texts, a sentence pair, got {len(given)} values ({kinds}). "
            "Pass several inputs as a list"
        )


def tokenizer_arguments(tokenizer: Any, given: object) -> tuple[str, str | None, bool]:
    """Return a text, a pair of texts or a chat as the fields of `TokenizerInput`."""
    if isinstance(given, tuple):
        check_pair(cast("tuple[object, ...]", given))
        return (*cast("Pair", given), False)
    if is_chat(given):
        return _chat_text(tokenizer, cast("Sequence[Any]", given)), None, True
    if isinstance(given, list | Mapping):
        raise InputError(
            "expected a text, a str; a pair of texts, a tuple; or a chat, a list of nothing but "
            "messages such as {'role': 'user', 'content': 'Hello'}, got "
            f"{type(given).__name__} {given!r:.80}"
        )
    if not isinstance(given, str):
        raise InputError(
            f"expected a text, a str, got {type(given).__name__}. For an image pass a PIL image "
            "and the processor of the model; for audio, the output of its processor: attend(model, "
            "None, processor(…, return_tensors='pt'))"
        )
    return given, None, False


def _chat_text(tokenizer: Any, messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the messages as the chat template writes them, up to the next answer.

    The template is that of the processor or of its tokenizer. Those of models that also read images
    take a list of parts as content, and most of them leave a string out without an error.
    """
    for number, message in enumerate(messages):
        if not all(isinstance(message.get(name), str) for name in ("role", "content")):
            raise InputError(
                "expected messages such as {'role': 'user', 'content': 'Hello'}, got "
                f"{dict(message)!r:.80} at index {number}"
            )
    pair = (tokenizer, inner_tokenizer(tokenizer))
    writer = next((one for one in pair if getattr(one, "chat_template", None)), None)
    if writer is None:
        raise InputError(
            "chat messages need a tokenizer with a chat template, and this one has none. Pass the "
            "prompt as one text"
        )
    failed = "the chat template of the tokenizer does not take these messages"
    with explain_failure(failed, "call its apply_chat_template"):
        text = _write(writer, [dict(message) for message in messages])
        if not _leaves_out(writer, messages, text):
            return text
        parts = [[{"type": "text", "text": message["content"]}] for message in messages]
        pairs = zip(messages, parts, strict=True)
        return _write(writer, [{**message, "content": content} for message, content in pairs])


def _leaves_out(writer: Any, messages: Sequence[Mapping[str, Any]], text: str) -> bool:
    """Whether a chat template wrote `text` without the content of the last question.

    It is left out if other content gives the same text. Templates may rewrite content, such as to
    upper case, so that the text need not contain it as it was.
    """
    asked = [n for n, message in enumerate(messages) if message["role"] != "assistant"]
    if not asked:
        return False
    others = [dict(message) for message in messages]
    # Not empty: a template that takes the first of the parts would fail.
    others[asked[-1]]["content"] = "1" if messages[asked[-1]]["content"].strip() == "0" else "0"
    return _write(writer, others) == text


def _write(writer: Any, messages: list[dict[str, Any]]) -> str:
    """Return what a chat template makes of messages; its own errors are ValueErrors."""
    from jinja2 import TemplateError

    answers = messages[-1]["role"] != "assistant"
    try:
        return str(
            writer.apply_chat_template(messages, tokenize=False, add_generation_prompt=answers)
        )
    except TemplateError as reason:
        raise ValueError(str(reason)) from reason
