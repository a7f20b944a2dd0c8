"""A lab that drives real agents against a model of its own and writes corpus files.

Real agents from npm, in disposable homes, inside a tmux server of the lab's own; the model they
talk to is `fake_model` on loopback, so every screen can be brought about on purpose and its truth
is known. Nothing leaves the machine except the one `npm install`.
"""
