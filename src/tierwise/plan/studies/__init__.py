"""What each study takes: a module of the study's name, found by that name; a study without one is listed without a forecast."""
