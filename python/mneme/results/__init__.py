"""A folder of results: the trials in it and what can be said of them.

`mneme sweep` and `mneme tune` leave such folders (docs/reference/results.md); `mneme report` draws what is in one.
"""
