"""What a dump set means: its tables (`tables`), the places that mention things (`places`), memory over time (`memory`),
the HLO module (`hlo`), the owner of each byte (`attribution`), ways to save memory (`advice`) and findings (`checks`).
"""
