"""What the columns of a file mean: by their names, their shapes and how they go together. Pure."""
