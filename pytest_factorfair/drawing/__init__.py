"""What benchmarks and reports draw with: tables, figures, sentences about a summary, escaping."""
