"""The subcommands of ``factorfair``, one module each; ``add`` adds a command's parser."""
