"""What happened: outcome, cell, column, journal, JUnit."""
