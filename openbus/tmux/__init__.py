"""The only code that talks to tmux."""
