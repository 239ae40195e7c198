"""Contact sheets: pictures with what was read off them."""
