"""The one table of results: sorted by any column, columns chosen, a row opened, and exports of just what it shows."""
