"""Importing: files of other tools become ordinary recordings, by a map that says what each column is."""
