"""Entry points for pages, CLI, HTTP and Python: question in, answer and its document out.

Each raises ProfetError for an invalid question: one line that says what is wrong and what to do.
"""
