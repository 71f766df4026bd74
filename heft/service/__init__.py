"""The service: one process that owns a rig, and a page that shows it. See `docs/service.md`."""
