"""Internals that several packages share: checks, storage, settings, tables, optional packages."""
