"""The error for a value without proof."""

from attnflow.errors import SolverError


def unproved(what: str, why: str) -> SolverError:
    """The error that says which value came without proof, and what its check found."""
    return SolverError(
        f"the maximum flow {what} came without proof: {why}. This is an error in attnflow, not in "
        "the input; please report it with the graph"
    )
