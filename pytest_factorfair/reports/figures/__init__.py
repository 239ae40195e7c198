"""Figures as Vega-Lite specifications: plain values, for the HTML report and for print alike.

A specification is written by hand, in the grammar's own words: a builder such as Altair would be a
dependency of every run, for keys that are as short without it. The HTML report draws it in the browser,
`factorfair export` as SVG and PDF.
"""
