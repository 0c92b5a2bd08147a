"""Choice of the region on which a box is branched."""
