"""The commands of ``factorfair``: each adds itself to the parser."""
