"""The tables, figures and part of the page that only this benchmark prints."""
