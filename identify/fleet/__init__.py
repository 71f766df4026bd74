"""Fleets: sessions of many arms over months; kept triangles, the table, drift and its causes. See `docs/fleet.md`"""
