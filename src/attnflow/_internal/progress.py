"""Progress of work in several parts."""

from attnflow._internal.checks import Progress


def progress_of_part(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one of `count` parts of the same size that are reported as one.

    >>> reports = []
    >>> second = progress_of_part(lambda *report: reports.append(report), 1, 2)
    >>> second(3, 10)
    >>> reports
    [(13, 20)]
    """
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)
