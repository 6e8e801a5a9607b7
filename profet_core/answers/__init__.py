"""Entry points for pages, CLI, HTTP and Python: a typed question in, an answer record out, and its JSON document.

Each raises ProfetError for an invalid question: one line that says what is wrong and what to do.
"""
