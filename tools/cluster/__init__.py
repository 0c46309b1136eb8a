"""Workers in other processes and on other machines: what they are told, how, who sees to them."""
