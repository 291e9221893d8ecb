"""The rules that find actions, one module each. `facts` is what they look at."""
