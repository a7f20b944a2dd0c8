"""Tells a person: a reactor on the bus with a policy, an outbox and senders."""
