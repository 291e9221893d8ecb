"""What would lower the peak of a memory space.

Each rule is a module in `rules` with a row (`rule_row`): what it finds, what would be left, its words, and code to
paste. The rules ask `facts` about the program. `advise` runs them and computes the peak after each action (`actions`),
which `sections` shows. The names of the rules are in `codes`.
"""
