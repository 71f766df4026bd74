"""The link to an MQTT broker: what a cell tells the factory, and the events that it hears of.

State topics are retained, event topics never are. Nothing that arrives here moves the arm.
"""
