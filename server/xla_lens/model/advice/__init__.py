"""What could be done about the peak of a memory space: the rules find it (`rules`), and each action has the peak after
it (`advise`).
"""
