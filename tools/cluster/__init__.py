"""Workers in processes of their own and on other machines: what is said to them, how it travels, who
sees to them."""
