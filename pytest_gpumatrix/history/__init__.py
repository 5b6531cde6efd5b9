"""What earlier runs said: an SQLite file of every result by commit."""
