"""Sessions of whole fleets: found, identified on many processes, and what is told of them. See `docs/fleet.md`"""
