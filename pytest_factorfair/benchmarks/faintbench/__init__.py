"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout and rules → cases → queries → gallery → metrics → benchmark → printing; biasig: published files of its
successor → a checklist.
"""
