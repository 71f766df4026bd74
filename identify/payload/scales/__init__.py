"""What tells the weight in the hand: the wrist sensor, or the joints' motors."""
