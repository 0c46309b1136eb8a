"""How far a harvest is, for people and programs: rates, forecasts, tables, bars, pictures."""
