"""Places where files live: a directory on a real disk, or a mount that takes as long as a modelled device would."""
