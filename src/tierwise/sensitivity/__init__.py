"""How far verdicts and headline ratios move with what nobody states of a device: one parameter at a time, to either end of its band."""
