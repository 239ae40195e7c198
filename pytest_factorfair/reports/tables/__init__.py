"""What a summary says, as tables: the same for the terminal, Markdown and HTML."""
