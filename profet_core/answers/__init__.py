"""Entry points for pages, CLI and HTTP: question in, answer record out.

Each raises ProfetError for an invalid question: one line that says what is wrong and what to do.
"""
