"""The four protocols that the agents speak, each as a pure module: no sockets, no clock.

A dialect reads a request body into a `Request` and encodes an answer piece by piece.
"""
