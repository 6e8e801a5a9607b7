"""Plotly figures as pure functions of records: what all of them share, and those that several pages show."""
