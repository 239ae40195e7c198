"""Model cards: what they say of a model, as Markdown and as JSON-LD."""
