"""Which switches are on when a page opens: as its Explanation was made, else by its content."""

from attnflow._internal import checks
from attnflow._internal.sinks import Sinks, sinks_to_remove
from attnflow.errors import InputError
from attnflow.view._content import Content


def opens_with_sinks(found: Content, sinks: Sinks | None) -> bool:
    """Return whether the page opens with attention sinks in the graph."""
    if sinks is None:
        return found.keep_sinks
    _ = sinks_to_remove((), 0, sinks)  # checks the setting
    return sinks == "keep"


def opens_corrected(found: Content, *, receptive_field: bool | None) -> bool:
    """Return whether the page opens with the correction for the receptive field."""
    possible = any(one.can_correct for one in (found, *found.others))
    if receptive_field is None:
        return possible if found.corrected is None else found.corrected
    asked = checks.as_bool(receptive_field, "receptive_field")
    if asked and not possible:
        raise InputError(
            "receptive_field=True is only for causal attention, whose weights the page has. Leave "
            "it out, or pass the Attention of a decoder"
        )
    return asked
