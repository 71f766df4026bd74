"""What a person sees: the live view, tables, and plain lines."""
