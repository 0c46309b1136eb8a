"""Workers in processes of their own: what is said to them, how it travels, who sees to them."""
