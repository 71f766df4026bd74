"""The page's process: an ASGI application that listens to a bus, and passes requests on to the owner of the rig."""
